"""Our layout against `dot`, pyelk and fast-sugiyama on the same boxes and edges: seconds, crossings, lengths, area.

`python -m benchmarks.layout_engines` prints the table. dot is asked when it is installed; pyelk and fast-sugiyama are
on PyPI and no requirement of this project: `pip install pyelk fast-sugiyama` to see their rows, which are skipped
otherwise. All engines get one flat level, without frames and columns, so that only layers, order and places differ.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.row import Row
from engine.figures.layout import lay_out
from engine.figures.level import GAP_X, GAP_Y, Level, Link
from engine.figures.scene import prepare
from engine.figures.view import GraphView
from engine.figures.wires import bundle_wires
from engine.graph.experiment import trace_model
from engine.graph.spec import GraphSpec
from engine.models.architecture import Gpt, LinearStack, Recurrent
from engine.models.spec import ModelSpec

PATIENCE_S = 60.0
"""After this long an engine's process is ended and its row says so."""
INCH = 72.0
PIECES = 6
"""Straight pieces a curve is cut into to count its crossings."""
TARGETS_S = {60: 0.05, 300: 0.25, 2000: 2.0}

Path = list[tuple[float, float]]


class Laid(NamedTuple):
    """Centres of the boxes and one path per link, y downwards."""

    x: list[float]
    y: list[float]
    paths: list[Path]


class Measured(NamedTuple):
    """How one engine did on one level; lengths and areas in pixels."""

    seconds: float
    crossings: int
    length: float
    bends: int
    area: float
    overlaps: int


def ours(level: Level) -> Laid:
    """engine/figures/layout.py."""
    drawing = lay_out(level)
    return Laid(list(drawing.x), list(drawing.y), [_cubic(curve) for curve in drawing.curves])


def dot(level: Level) -> Laid:
    """Graphviz, as a process."""
    gaps = f"nodesep={GAP_X / INCH:.4f} ranksep={GAP_Y / INCH:.4f}"
    lines = ["digraph {", gaps, 'node [shape=box fixedsize=true label=""]']
    lines += [f"{i} [width={w / INCH:.4f} height={h / INCH:.4f}]" for i, (w, h) in enumerate(level.sizes)]
    lines += [f"{link.source} -> {link.target}" for link in level.links]
    text = "\n".join([*lines, "}"])
    done = subprocess.run(
        ["dot", "-Tplain"], input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return _read_plain(level, done.stdout)


def _read_plain(level: Level, text: str) -> Laid:
    laid = Laid([0.0] * len(level.sizes), [0.0] * len(level.sizes), [[] for _ in level.links])
    numbers = {(link.source, link.target): number for number, link in enumerate(level.links)}
    for line in text.replace("\\\n", "").splitlines():
        words = line.split()
        if words[0] == "node":
            laid.x[int(words[1])], laid.y[int(words[1])] = float(words[2]) * INCH, -float(words[3]) * INCH
        elif words[0] == "edge":
            points = [float(word) * INCH for word in words[4 : 4 + 2 * int(words[3])]]
            path = _cubic([-value if i % 2 else value for i, value in enumerate(points)])
            laid.paths[numbers[int(words[1]), int(words[2])]] = path
    return laid


def pyelk(level: Level) -> Laid:
    """ELK's layered algorithm in Python."""
    from pyelk import ELK

    children = [{"id": str(i), "width": w, "height": h} for i, (w, h) in enumerate(level.sizes)]
    edges = [
        {"id": f"e{i}", "sources": [str(link.source)], "targets": [str(link.target)]}
        for i, link in enumerate(level.links)
    ]
    options = {"elk.algorithm": "layered", "elk.direction": "DOWN"}
    found = ELK().layout({"id": "root", "layoutOptions": options, "children": children, "edges": edges})
    centres = [(c["x"] + c["width"] / 2, c["y"] + c["height"] / 2) for c in found["children"]]
    return Laid([x for x, _ in centres], [y for _, y in centres], [_sections(edge) for edge in found["edges"]])


def _sections(edge: dict[str, Any]) -> Path:
    section = edge["sections"][0]
    points = [section["startPoint"], *section.get("bendPoints", ()), section["endPoint"]]
    return [(point["x"], point["y"]) for point in points]


def fast_sugiyama(level: Level) -> Laid:
    """rust-sugiyama: knows no sizes, so boxes stand as far apart as the largest needs; edges are straight."""
    from fast_sugiyama import from_edges

    spacing = max(max(size) for size in level.sizes) + GAP_X
    laid = Laid([0.0] * len(level.sizes), [0.0] * len(level.sizes), [])
    left = 0.0
    for positions, width, _, _ in from_edges([(k.source, k.target) for k in level.links], vertex_spacing=spacing):
        start = left - min(x for _, (x, _) in positions)
        for box, (x, y) in ((box, place) for box, place in positions if box < len(level.sizes)):
            laid.x[box], laid.y[box] = x + start, -y
        left += width + spacing
    laid.paths.extend([(laid.x[k.source], laid.y[k.source]), (laid.x[k.target], laid.y[k.target])] for k in level.links)
    return laid


ENGINES: dict[str, tuple[Callable[[Level], Laid], Callable[[], bool]]] = {
    "ours": (ours, lambda: True),
    "dot": (dot, lambda: shutil.which("dot") is not None),
    "pyelk": (pyelk, lambda: find_spec("pyelk") is not None),
    "fast-sugiyama": (fast_sugiyama, lambda: find_spec("fast_sugiyama") is not None),
}


def _cubic(curve: Sequence[float]) -> Path:
    """A chain of cubic segments as short straight pieces."""
    path = [(curve[0], curve[1])]
    for at in range(2, len(curve), 6):
        x0, y0 = path[-1]
        x1, y1, x2, y2, x3, y3 = curve[at : at + 6]
        for piece in range(1, PIECES + 1):
            t = piece / PIECES
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            path.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
    return path


def levels() -> Iterator[tuple[str, int, Level]]:
    """(name, about how many boxes, level): models with everything open, and random graphs."""
    for boxes, layers, blocks, steps in ((60, 29, 5, 4), (300, 149, 27, 23), (2000, 300, 48, 153)):
        yield "MLP", boxes, _model(LinearStack(layers=layers), as_boxes=boxes == 2000)
        yield "GPT", boxes, _model(Gpt(layers=blocks), as_boxes=boxes == 2000)
        yield "LSTM", boxes, _model(Recurrent(cell="hand_written_lstm", steps=steps), as_boxes=False)
        yield "random", boxes, random_level(boxes, boxes + boxes // 2)


def _model(architecture: Any, as_boxes: bool) -> Level:
    """Every operation a box; with `as_boxes` also leaves, views and transposes."""
    graph = trace_model(GraphSpec(model=ModelSpec(architecture=architecture), backward=False), lambda *_: None).graph
    folds = not as_boxes
    view = GraphView(maximum_boxes=5000, fold_leaves=folds, fold_transposes=folds, fold_views=folds)
    prepared = prepare(graph, view)
    items, stack = [], [prepared.tree]
    while stack:
        item = stack.pop()
        items += [item] if not item.kids else []
        stack += item.children
    items.sort(key=lambda item: item.first)
    wires = bundle_wires(prepared.labels.nodes, items).bundles
    links = {
        (w.source.first, w.target.first): Link(w.source.first, w.target.first, bundle=w.source.first) for w in wires
    }
    return Level([prepared.labels.text(item, False).size for item in items], list(links.values()))


def random_level(boxes: int, links: int) -> Level:
    """Mostly short edges and a few long ones, as in a recorded graph; the same for the same numbers."""
    dice = Random(boxes)
    found: dict[tuple[int, int], Link] = {}
    while len(found) < links:
        source = dice.randrange(boxes - 1)
        target = min(boxes - 1, source + 1 + int(dice.expovariate(0.1)))
        found[source, target] = Link(source, target, bundle=source)
    return Level([(dice.randint(96, 200), dice.randint(40, 80)) for _ in range(boxes)], list(found.values()))


def measured(engine: Callable[[Level], Laid], level: Level) -> Measured:
    """Time one layout, then look at what came out."""
    start = time.perf_counter()
    laid = engine(level)
    seconds = time.perf_counter() - start
    turns = [int(_bends(path)) for path in laid.paths]
    width = max(x + w / 2 for x, (w, _) in zip(laid.x, level.sizes, strict=True))
    width -= min(x - w / 2 for x, (w, _) in zip(laid.x, level.sizes, strict=True))
    height = max(y + h / 2 for y, (_, h) in zip(laid.y, level.sizes, strict=True))
    height -= min(y - h / 2 for y, (_, h) in zip(laid.y, level.sizes, strict=True))
    length = sum(float(np.hypot(*np.diff(np.array(path), axis=0).T).sum()) for path in laid.paths)
    return Measured(seconds, crossings(laid.paths), length, sum(turns), width * height, overlaps(level, laid))


def _bends(path: Path) -> int:
    """Changes of direction by more than 20 degrees in all."""
    steps = np.diff(np.array(path), axis=0)
    steps = steps[np.hypot(*steps.T) > 1e-6]
    turned = np.abs(np.diff(np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))))
    return int(turned.sum() // np.radians(20))


def crossings(paths: Sequence[Path]) -> int:
    """Places where lines cross; edges that run as one line count once, and ends that meet do not."""
    pieces = {tuple(np.round((*a, *b), 2).tolist()): None for path in paths for a, b in pairwise(path)}
    p = np.array(list(pieces))
    p = p[np.argsort(np.minimum(p[:, 1], p[:, 3]), kind="stable")]
    low, high = np.minimum(p[:, 1], p[:, 3]), np.maximum(p[:, 1], p[:, 3])
    left, right = np.minimum(p[:, 0], p[:, 2]), np.maximum(p[:, 0], p[:, 2])
    ends = np.searchsorted(low, high, side="right")
    found = 0
    for i in range(len(p)):
        near = np.arange(i + 1, ends[i])
        near = near[(left[near] <= right[i]) & (right[near] >= left[i])]
        found += int(_meet(p[i], p[near]).sum())
    return found


def _meet(one: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Which of the other pieces properly cross this one."""

    def side(ax: Any, ay: Any, bx: Any, by: Any, cx: Any, cy: Any) -> Any:
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    a, b, c, d = one[:4]
    e, f, g, h = others[:, :4].T
    first = side(a, b, c, d, e, f) * side(a, b, c, d, g, h)
    return (first < -1e-6) & (side(e, f, g, h, a, b) * side(e, f, g, h, c, d) < -1e-6)


def overlaps(level: Level, laid: Laid) -> int:
    """Pairs of boxes that lie on each other by more than a hundredth of a pixel."""
    x, y = np.array(laid.x), np.array(laid.y)
    w, h = np.array([size[0] for size in level.sizes]), np.array([size[1] for size in level.sizes])
    across = (w[:, None] + w) / 2 - np.abs(x[:, None] - x)
    down = (h[:, None] + h) / 2 - np.abs(y[:, None] - y)
    return int((((across > 0.01) & (down > 0.01)).sum() - len(x)) // 2)


def measure() -> list[Row]:
    """Our seconds and, where dot is installed, how many times its crossings we draw."""
    rows = []
    for name, boxes, level in levels():
        mine = measured(ours, level)
        detail = f"{len(level.sizes)} boxes, {len(level.links)} edges, {mine.crossings} crossings"
        rows.append(Row(f"layout: {name}, about {boxes} boxes", mine.seconds, TARGETS_S[boxes], "s", detail))
    return rows


def main() -> int:
    """Print one line per graph and engine."""
    said = f"{'s':>8}{'cross':>8}{'length':>9}{'bends':>8}{'area':>8}{'over':>6}"
    print(f"{'graph':<14}{'boxes':>6}{'edges':>6}  {'engine':<14}{said}")
    for name, _, level in levels():
        for engine, (draw, there) in ENGINES.items():
            head = f"{name:<14}{len(level.sizes):>6}{len(level.links):>6}  {engine:<14}"
            print(head + (_line(draw, level) if there() else "skipped: not installed"), flush=True)
    return 0


def _line(draw: Callable[[Level], Laid], level: Level) -> str:
    try:
        m = measured(draw, level)
    except subprocess.TimeoutExpired:
        return f"over {PATIENCE_S:g} s"
    except Exception as error:
        return f"failed: {type(error).__name__}: {str(error)[:60]}"
    size = f"{m.length / 1e3:>8.0f}k{m.bends:>8}{m.area / 1e6:>7.1f}M{m.overlaps:>6}"
    return f"{m.seconds:>8.3f}{m.crossings:>8}{size}"


if __name__ == "__main__":
    sys.exit(main())
