"""The test page's server, and what the component says about itself in a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Locator

from tests.browser.server import ROOT, Server, free_port, stop, wait_until_it_answers
from tests.browser.visitor import NEXT_FRAMES, Visitor

PAGE = "tests/component/cells_page.py"
FIND_CELLS = """[...document.querySelectorAll("*")].map(
  (element) => element.shadowRoot?.querySelector("[data-atlas-cells]")).find(Boolean)"""
"""JavaScript for the component's root, which lies in an open shadow root."""


@contextmanager
def cells_server(log: Path) -> Iterator[Server]:
    """The test page on a free port, with the project's own settings."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
    command = [sys.executable, "-m", "streamlit", "run", PAGE, "--server.port", str(port), "--server.headless", "true"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    server = Server(f"http://localhost:{port}", process, log)
    try:
        wait_until_it_answers(server)
        yield server
    finally:
        stop(server)


class Cells:
    """The component on the test page."""

    def __init__(self, visitor: Visitor, scene: str, **query: int) -> None:
        self.visitor = visitor
        self.page = visitor.page
        self.page.goto(f"{visitor.address}/?{urlencode({'scene': scene, **query})}")
        self.page.wait_for_function(f"() => ({FIND_CELLS})?.dataset.atlasCells")

    @property
    def root(self) -> Locator:
        return self.page.locator("[data-atlas-cells]").first

    @property
    def canvas(self) -> Locator:
        return self.page.locator("[data-atlas-canvas]").first

    @property
    def said(self) -> dict:
        self.page.evaluate(NEXT_FRAMES)
        return json.loads(self.root.get_attribute("data-atlas-cells") or "{}")

    @property
    def status(self) -> str:
        return self.page.locator("[data-atlas-said]").inner_text()

    @property
    def tooltip(self) -> str:
        box = self.page.locator("[data-atlas-tooltip]")
        return box.inner_text() if box.is_visible() else ""

    def box(self, panel: str, index: int) -> dict[str, float]:
        return self.root.evaluate("(root, [panel, index]) => root.atlasCellBox(panel, index)", [panel, index])

    def middle(self, panel: str, index: int) -> dict[str, float]:
        box = self.box(panel, index)
        return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}

    def hover(self, panel: str, index: int) -> dict:
        self.canvas.hover(position=self.middle(panel, index))
        return self.said

    def click(self, panel: str, index: int) -> dict:
        self.canvas.click(position=self.middle(panel, index))
        return self.said

    def wait_for_python(self, panel: str | None, index: int | None) -> None:
        """Until the page says that this cell is selected."""
        self.page.get_by_text(f"selected {panel} {index}", exact=True).wait_for()

    def press(self, *keys: str) -> dict:
        for key in keys:
            self.page.keyboard.press(key)
        return self.said

    def action(self, name: str) -> Locator:
        return self.page.locator(f'[data-atlas-action="{name}"]').first
