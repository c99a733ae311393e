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


@pytest.fixture(scope="package")
def one_page(chromium):
    """A page that all tests of the graph's canvas take turns on, and what went wrong on it."""
    page = chromium.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page, problems
    page.close()


@pytest.fixture
def canvas_page(one_page):
    """An empty page at the width the picture has in a window of 1280; nothing may go wrong on it."""
    page, problems = one_page
    page.goto("about:blank")
    page.set_viewport_size({"width": 930, "height": 640})
    problems.clear()
    yield page
    assert problems == []


@pytest.fixture
def shown(canvas_page):
    """Shows scenes, one after the other, in a wider window; at the end no script may have failed."""
    canvas_page.set_viewport_size({"width": 1280, "height": 660})

    def open_scene(scene, theme="light"):
        canvas_page.goto("about:blank")
        return Picture(canvas_page, SCENES[scene]() if isinstance(scene, str) else scene, theme)

    return open_scene
