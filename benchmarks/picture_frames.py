"""Frames while the picture of a graph is dragged and zoomed: 300, 500 and 2,000 visible boxes, in a real browser.

The interval between frames is what the reader feels; on a shared machine it includes what others run, so the time the
page's main thread worked per frame stands beside it. The same picture as SVG in the page is the alternative that the
canvas was chosen over.
"""

from __future__ import annotations

from statistics import median, quantiles
from typing import Any, NamedTuple

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.row import Row
from engine.figures.svg import scene_svg
from tests.browser.visitor import launch
from tests.component.graph_scenes import many
from tests.component.graph_visitor import Picture

SIZES = (300, 500, 2000)
FRAMES = {"canvas": 120, "SVG": 24}
TARGET_MS = 1000 / 60
GESTURES = ("drag", "zoom")
ZOOMS = {"near": 0.7, "whole picture": 0.0}
"""Where the gesture starts: zoom, or 0 for everything in sight."""

PLAY = """
async ([gesture, frames]) => {
  const canvas = document.querySelector("[data-atlas-canvas]");
  const intervals = [];
  const send = (type, x, y) => {
    const at = { clientX: x, clientY: y, pointerId: 1, buttons: 1, bubbles: true };
    canvas.dispatchEvent(new PointerEvent(type, at));
  };
  const wheel = (deltaY) => {
    const at = { clientX: 640, clientY: 320, deltaY, bubbles: true, cancelable: true };
    canvas.dispatchEvent(new WheelEvent("wheel", at));
  };
  canvas.setPointerCapture = () => {};
  let before = await new Promise(requestAnimationFrame);
  if (gesture === "drag") send("pointerdown", 640, 320);
  for (let i = 0; i < frames; i++) {
    const angle = (i / frames) * 2 * Math.PI;
    if (gesture === "drag") send("pointermove", 640 + 560 * Math.sin(angle), 320 + 280 * Math.sin(2 * angle));
    else wheel(i < frames / 2 ? -40 : 40);
    const now = await new Promise(requestAnimationFrame);
    intervals.push(now - before);
    before = now;
  }
  if (gesture === "drag") send("pointerup", 640, 320);
  return intervals;
}
"""

SVG_PAGE = "<style>body{{margin:0;overflow:hidden}}</style><body><div data-atlas-canvas>{svg}</div></body>"
SVG_CAMERA = """
() => {
  const room = document.querySelector("[data-atlas-canvas]");
  const svg = room.firstElementChild;
  const [left, top, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  svg.setAttribute("width", 1280);
  svg.setAttribute("height", 640);
  let [x, y, zoom, last] = [left, top, 1, null];
  const show = () => svg.setAttribute("viewBox", `${x} ${y} ${1280 / zoom} ${640 / zoom}`);
  window.place = (wanted) => {
    zoom = wanted || Math.min(1280 / width, 640 / height);
    [x, y] = wanted ? [left + width / 4, top + height / 4] : [left, top];
    show();
  };
  room.onpointerdown = (event) => { last = event; };
  room.onpointermove = (event) => {
    x -= (event.clientX - last.clientX) / zoom;
    y -= (event.clientY - last.clientY) / zoom;
    last = event;
    show();
  };
  room.onwheel = (event) => {
    const grown = Math.exp(-event.deltaY * 0.0022);
    x += event.clientX / zoom - event.clientX / (zoom * grown);
    y += event.clientY / zoom - event.clientY / (zoom * grown);
    zoom *= grown;
    show();
  };
}
"""
CANVAS_CAMERA = """
() => {
  window.place = (wanted) => {
    if (!wanted) return view.camera.flyTo(view.fitting(), true);
    const { width, height } = view.scene;
    return view.camera.flyTo({ zoom: wanted, x: width / 4, y: height / 4 }, true);
  };
}
"""


class Frames(NamedTuple):
    """Milliseconds between frames, and of the page's main thread per frame."""

    intervals_ms: list[float]
    busy_ms: float


def measure() -> list[Row]:
    """Canvas for every size; SVG for every size, without a target."""
    rows = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for size in SIZES:
            for drawn in ("canvas", "SVG"):
                page = browser.new_page(viewport={"width": 1280, "height": 640})
                _open(page, size, drawn)
                session = page.context.new_cdp_session(page)
                for name, zoom in ZOOMS.items():
                    rows += [_row(page, session, size, drawn, gesture, name, zoom) for gesture in GESTURES]
                page.close()
        browser.close()
    return rows


def _open(page: Page, size: int, drawn: str) -> None:
    if drawn == "canvas":
        Picture(page, many(size))
        page.evaluate(CANVAS_CAMERA)
    else:
        page.set_content(SVG_PAGE.format(svg=scene_svg(many(size))))
        page.evaluate(SVG_CAMERA)


def _row(page: Page, session: CDPSession, size: int, drawn: str, gesture: str, name: str, zoom: float) -> Row:
    page.evaluate("(zoom) => { place(zoom); }", zoom)
    page.wait_for_timeout(400)
    frames = _play(page, session, gesture, FRAMES[drawn])
    late = quantiles(frames.intervals_ms, n=20)[-1]
    detail = f"95 % within {late:.1f} ms, main thread {frames.busy_ms:.2f} ms a frame"
    target = TARGET_MS + 0.1 if drawn == "canvas" else None
    return Row(f"{size} boxes, {drawn}, {gesture}, {name}", median(frames.intervals_ms), target, "ms", detail)


def _play(page: Page, session: CDPSession, gesture: str, count: int) -> Frames:
    before = _busy_s(session)
    intervals: list[float] = page.evaluate(PLAY, [gesture, count])
    return Frames(intervals, 1e3 * (_busy_s(session) - before) / count)


def _busy_s(session: CDPSession) -> float:
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    metrics: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))
