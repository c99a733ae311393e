"""Linked cells in a real browser: 10,000 cells of a tensor and the 10,000 of its storage, first drawing and hovering.

Clocks run in the page: the first from receiving the bytes to the picture being on the canvas (decoding, linking,
layout, painting), the others around one repaint of a hover; both with rasterising. Software rendering, no GPU.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

from benchmarks.row import Row
from tests.browser.visitor import launch, visiting
from tests.component.cells_visitor import Cells, cells_server

FIRST_DRAWS, HOVERS = 7, 40
FIRST_TARGET_MS, HOVER_TARGET_MS = 500.0, 16.0

RASTER = """canvas => {
  const start = performance.now();
  canvas.getContext("2d").getImageData(0, 0, 1, 1);
  return performance.now() - start;
}"""
"""Drawing is only recorded until somebody asks for a pixel; this makes the browser do it, and returns milliseconds."""


def measure() -> list[Row]:
    """Medians; the spread is in the details."""
    with (
        tempfile.TemporaryDirectory() as folder,
        cells_server(Path(folder) / "log.txt") as server,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        with visiting(browser, server.address) as visitor:
            firsts = [_first_drawing(Cells(visitor, "large", height=720)) for _ in range(FIRST_DRAWS)]
            hovers = _hovers(Cells(visitor, "large", height=720), 2)
            all_lit = _hovers(Cells(visitor, "expanded", height=720), 10_001)
        browser.close()
    return [
        Row("20,000 cells, first drawing", median(firsts), FIRST_TARGET_MS, "ms", _spread(firsts)),
        Row("20,000 cells, one hover", median(hovers), HOVER_TARGET_MS, "ms", _spread(hovers)),
        Row("one hover that lights 10,001 cells", median(all_lit), None, "ms", _spread(all_lit)),
    ]


def _first_drawing(cells: Cells) -> float:
    return float(cells.root.get_attribute("data-atlas-first-draw-ms") or "nan") + cells.canvas.evaluate(RASTER)


def _hovers(cells: Cells, lit: int) -> list[float]:
    """Milliseconds of the repaint that lights a cell up, for cells all over the panel."""
    found = []
    for number in range(HOVERS):
        said = cells.hover("x", (number * 1667) % 10_000)
        assert said["lit"] == lit
        found.append(float(said["paint_ms"]) + cells.canvas.evaluate(RASTER))
    return found


def _spread(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f} ms, {len(values)} times"
