"""A Chromium for pages that hold nothing but a component."""

from __future__ import annotations

import pytest

from tests.browser.visitor import CHROMIUM, launch
from tests.component.graph_scenes import SCENES
from tests.component.graph_visitor import Picture


@pytest.fixture(scope="package")
def chromium():
    if not CHROMIUM:
        pytest.skip("no Chromium: install the system package 'chromium'")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture
def canvas_page(chromium):
    """An empty page at the width the picture has in a window of 1280; nothing may go wrong on it."""
    page = chromium.new_page(viewport={"width": 930, "height": 640})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    page.close()
    assert not problems


@pytest.fixture
def shown(chromium):
    """Opens scenes on pages of their own; at the end no script may have failed."""
    contexts, problems = [], []

    def open_scene(scene, theme="light", **options):
        context = chromium.new_context(viewport={"width": 1280, "height": 660}, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        return Picture(page, SCENES[scene]() if isinstance(scene, str) else scene, theme)

    yield open_scene
    for context in contexts:
        context.close()
    assert problems == []
