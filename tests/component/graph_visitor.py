"""The graph canvas alone on a page of its own, without a server: scene in, what it says about itself out."""

from __future__ import annotations

import base64
import json
from typing import Any

from playwright.sync_api import Locator, Page

from engine.figures.palette import BACKGROUND, TEXT, Theme
from engine.figures.scene import Scene, encode_scene
from pages.shared.canvas_files import SCRIPTS, STYLES, read
from tests.browser.visitor import NEXT_FRAMES

RESTS = """() => ![
  view.frameRequest, view.camera.flight, view.moving, view.old, view.saying, view.settle, view.search.waiting
].some(Boolean)"""
PRIMARY: dict[Theme, str] = {"light": "#3d53c6", "dark": "#a3b3ff"}
BORDER: dict[Theme, str] = {"light": "#d9d5cb", "dark": "#2c3340"}
SURFACE: dict[Theme, str] = {"light": "#f1eee7", "dark": "#1b202a"}

START = """
const held = atob(window.encodedScene);
const given = Uint8Array.from(held, (letter) => letter.charCodeAt(0));
const component = {
  parentElement: document.body, data: given,
  setStateValue: (name, value) => window.told.push([name, value]),
  setTriggerValue: (name, value) => window.told.push([name, value]),
};
window.told = [];
window.show = (bytes) => start({ ...component, data: bytes ?? given });
window.hide = window.show();
window.view = instances.get(document.querySelector("[data-atlas-graph]"));
"""


def document(theme: Theme, height: int) -> str:
    """HTML and style of the component under the app's theme; the script is added when the scene is there."""
    variables = {
        "background-color": BACKGROUND[theme],
        "secondary-background-color": SURFACE[theme],
        "text-color": TEXT[theme],
        "border-color": BORDER[theme],
        "primary-color": PRIMARY[theme],
        "link-color": PRIMARY[theme],
        "base-radius": "8px",
        "font": "'DejaVu Sans', sans-serif",
    }
    style = "".join(f"--st-{name}: {value};" for name, value in variables.items())
    body = read("graph.html")
    css = read(*STYLES)
    return (
        f"<!doctype html><meta charset='utf-8'><style>:root{{{style}}} body{{margin:0;background:{BACKGROUND[theme]}}}"
        f"#room{{height:{height}px}}{css}</style><body><div id='room'>{body}</div></body>"
    )


class Picture:
    """A page that holds nothing but the canvas."""

    def __init__(self, page: Page, scene: Scene | bytes, theme: Theme = "light", height: int = 640) -> None:
        self.page = page
        page.set_content(document(theme, height))
        encoded = scene if isinstance(scene, bytes) else encode_scene(scene)
        page.evaluate("(text) => { window.encodedScene = text; }", base64.b64encode(encoded).decode())
        scripts = read(*SCRIPTS)
        page.add_script_tag(type="module", content=scripts.replace("export default function", "function start") + START)
        page.wait_for_function("() => document.querySelector('[data-atlas-graph]')?.dataset.atlasPlaces")

    @property
    def canvas(self) -> Locator:
        return self.page.locator("[data-atlas-canvas]")

    @property
    def root(self) -> Locator:
        return self.page.locator("[data-atlas-graph]")

    @property
    def told(self) -> list[list[Any]]:
        """What went to Python: [name, value] of every event."""
        found: list[list[Any]] = self.page.evaluate("() => window.told")
        return found

    @property
    def said(self) -> dict[str, str]:
        """The data attributes, once nothing moves any more."""
        self.page.evaluate(NEXT_FRAMES)
        self.page.wait_for_function(RESTS)
        found: dict[str, str] = self.root.evaluate("element => ({...element.dataset})")
        return found

    @property
    def places(self) -> dict[str, dict[str, float]]:
        """Boxes in sight by address, in pixels of the canvas."""
        return {place["address"]: place for place in json.loads(self.said["atlasPlaces"])}

    def press(self, *keys: str) -> dict[str, str]:
        self.canvas.focus()
        for key in keys:
            self.page.keyboard.press(key)
        return self.said

    def action(self, name: str) -> Locator:
        return self.page.locator(f'[data-atlas-action="{name}"]')
