"""A reader with a real browser who opens an interactive HTML file from disk, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

from tests.browser.visitor import NEXT_FRAMES, Place


class Reader:
    """One file in its own browser context; `problems` are errors, messages, dialogs and requests."""

    def __init__(self, page, path: Path) -> None:
        self.page, self.problems = page, []
        address = path.as_uri()
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("console", lambda message: self.problems.append(f"console: {message.text}"))
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: asked.url == address or self.problems.append(f"request: {asked.url[:200]}"))
        page.goto(address)
        page.wait_for_selector("html[data-page-ready]", timeout=60_000)

    @property
    def root(self) -> Locator:
        return self.page.locator("[data-atlas-graph]")

    @property
    def canvas(self) -> Locator:
        return self.page.locator("[data-atlas-canvas]")

    @property
    def facts(self) -> Locator:
        return self.page.locator("[data-page-facts]")

    @property
    def trail(self) -> Locator:
        return self.page.locator("[data-page-trail]")

    @property
    def said(self) -> dict[str, str]:
        """What the canvas says about itself, once it has rested for three looks."""
        self.page.evaluate(NEXT_FRAMES)
        before: dict[str, str] = {}
        rested = 0
        for _ in range(40):
            self.page.wait_for_timeout(160)
            now = self.root.evaluate("element => ({...element.dataset})")
            rested = rested + 1 if now == before and "atlasPlaces" in now else 0
            if rested == 3:
                break
            before = now
        return before

    @property
    def places(self) -> list[Place]:
        return [Place(**place) for place in json.loads(self.said["atlasPlaces"])]

    def box(self, role: str, containing: str = "") -> Place:
        found = [one for one in self.places if one.role == role and containing in one.address]
        assert found, f"no {role} with {containing!r} among {[one.address for one in self.places]}"
        return found[0]

    def click(self, place: Place, *, double: bool = False) -> None:
        x, y = place.handle
        (self.canvas.dblclick if double else self.canvas.click)(position={"x": x, "y": y})

    def expect_trail(self, *names: str) -> None:
        expect(self.trail).to_have_text("›".join(names))


@contextmanager
def reading(browser: Browser, path: Path, *, dark: bool = False, width: int = 1280) -> Iterator[Reader]:
    """A fresh reader; at the end nothing may have gone wrong."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        offline=True,
        accept_downloads=True,
    )
    context.set_default_timeout(60_000)
    try:
        reader = Reader(context.new_page(), path)
        yield reader
        assert reader.problems == []
    finally:
        context.close()
