"""One server and one browser for all browser tests, a fresh page for each."""

from __future__ import annotations

import pytest

from tests.browser.server import running_server
from tests.browser.visitor import CHROMIUM, at_a_new_page, launch, new_context


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)
            if not CHROMIUM:
                item.add_marker(pytest.mark.skip(reason="no Chromium: install the system package 'chromium'"))


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server") / "log.txt") as running:
        yield running
        assert "Traceback" not in running.printed(), running.printed()[-4000:]


@pytest.fixture(scope="package")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture(scope="package")
def contexts(browser):
    """A light and a dark browser for all tests: what every page loads is fetched and compiled once."""
    light_and_dark = [new_context(browser, dark=dark) for dark in (False, True)]
    yield light_and_dark
    for context in light_and_dark:
        context.close()


@pytest.fixture
def visitor(contexts, server):
    with at_a_new_page(contexts[0], server.address) as guest:
        yield guest


@pytest.fixture
def dark_visitor(contexts, server):
    with at_a_new_page(contexts[1], server.address) as guest:
        yield guest
