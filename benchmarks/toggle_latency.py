"""From a click on a toggle to the new picture, in wall seconds, in a real browser: default MLP, residual off.

Every round uses a seed of its own, so no result comes from the cache. The clock runs in the page: it starts with the
click and stops at the first frame after the component has received the new graph.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

from benchmarks.row import Row
from tests.browser.server import running_server
from tests.browser.visitor import FIND_GRAPH, Visitor, launch, visiting

ROUNDS = 20
TARGET_S = 0.5
PAGE = "autograd-graph"
TOGGLE = "mlp.residual"

CLICK_AND_WAIT = """
(toggle) => new Promise((done, fail) => {
  const find = () => GRAPH;
  let graph = find();
  const shown = () => {
    if (!graph?.isConnected) graph = find();
    return graph?.dataset.atlasBoxes ? graph.dataset.atlasWires + "/" + graph.dataset.atlasBoxes : before;
  };
  const before = graph.dataset.atlasWires + "/" + graph.dataset.atlasBoxes;
  const start = performance.now();
  const look = () => {
    const waited = performance.now() - start;
    if (shown() !== before) requestAnimationFrame(() => done(performance.now() - start));
    else if (waited > 20000) fail(new Error("no new picture within 20 s"));
    else requestAnimationFrame(look);
  };
  toggle.click();
  look();
})
""".replace("GRAPH", FIND_GRAPH)


def measure() -> list[Row]:
    """Median of the rounds, after one that is not counted."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder) / "log.txt") as server,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        with visiting(browser, server.address) as visitor:
            seconds = [_one_toggle(visitor, seed) for seed in range(ROUNDS + 1)][1:]
        browser.close()
    spread = f"{1e3 * min(seconds):.0f} to {1e3 * max(seconds):.0f} ms, {ROUNDS} toggles, none cached"
    return [Row("toggle to new picture", 1e3 * median(seconds), 1e3 * TARGET_S, "ms", spread)]


def _one_toggle(visitor: Visitor, seed: int) -> float:
    visitor.open(PAGE, seed=seed)
    assert visitor.graph
    toggle = visitor.control(TOGGLE).locator("input").first
    return float(toggle.evaluate(CLICK_AND_WAIT)) / 1e3
