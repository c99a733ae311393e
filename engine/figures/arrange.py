"""What of a graph is open, and where everything goes on the page."""

from __future__ import annotations

from typing import NamedTuple

from engine.figures.compound import Picture, compose, visible_parents
from engine.figures.fold import Folded
from engine.figures.hierarchy import Item
from engine.figures.labels import Labels
from engine.figures.opening import expand_automatically, expand_named
from engine.figures.view import GraphView
from engine.figures.wires import Wired, bundle_wires
from engine.graph.spec import Graph

ASPECTS = (1.75, 2.8, 4.2)
"""Width to height that tall frames are broken into columns for; the one that fills the page best is taken."""
PAGE = (960, 560)
"""Width and height in pixels of a canvas on a laptop."""
GAIN = 1.15
"""How much larger a wider picture must appear to be preferred: breaks cost reading, too."""
MANY = 150
"""From this many boxes on only the first aspect is tried."""
LEGIBLE = 0.4
"""Zoom at which operation names can still be read."""


class Arranged(NamedTuple):
    """Open groups, how many could not open, visible items (frames first), wires and where all of it is."""

    opened: frozenset[str]
    refused: int
    visible: list[Item]
    wired: Wired
    picture: Picture


def arrange(graph: Graph, folded: Folded, labels: Labels, root: Item, view: GraphView) -> Arranged:
    """Open groups and place everything; with `legible_in` less and less, until it can be read at that size."""
    if view.expanded is not None:
        opened, refused = expand_named(root, view.expanded, max(view.ceiling_boxes, view.maximum_boxes))
        return _place(graph, folded, labels, root, view, opened, refused)
    arranged = None
    for share in (1.0, 0.7, 0.5, 0.35, 0.25) if view.legible_in else (1.0,):
        opened = expand_automatically(root, max(1, int(view.maximum_boxes * share)))
        if arranged is None or opened != arranged.opened:
            arranged = _place(graph, folded, labels, root, view, opened, 0)
        if view.legible_in is None or _zoom(arranged.picture, view.legible_in) >= LEGIBLE:
            break
    assert arranged is not None
    return arranged


def _zoom(picture: Picture, page: tuple[int, int]) -> float:
    return min((page[0] - 36) / max(1.0, picture.width), (page[1] - 66) / max(1.0, picture.height))


def _place(
    graph: Graph, folded: Folded, labels: Labels, root: Item, view: GraphView, opened: frozenset[str], refused: int
) -> Arranged:
    visible = _visible(root, opened)
    labels.around = {address: group.path for address, group in visible_parents(root, opened).items()}
    wired = bundle_wires(labels.nodes, [item for item in visible if item.address not in opened])
    wires = [(bundle.source, bundle.target) for bundle in wired.bundles]
    aspects = (0.0,) if not view.columns else ASPECTS[:1] if len(visible) > MANY else ASPECTS
    pictures = [
        compose(
            root,
            opened,
            wires,
            lambda item: labels.text(item, False).size,
            lambda item: labels.text(item, True).size[0],
            aspect=aspect,
            backward=view.direction == "backward",
        )
        for aspect in aspects
    ]
    picture = pictures[0]
    for wider in pictures[1:]:
        if _zoom(wider, view.legible_in or PAGE) > GAIN * _zoom(picture, view.legible_in or PAGE):
            picture = wider
    return Arranged(opened, refused, visible, wired, picture)


def _visible(root: Item, opened: frozenset[str]) -> list[Item]:
    """Open frames outermost first, then closed groups and nodes in forward order."""
    frames: list[Item] = []
    boxes: list[Item] = []
    stack = list(reversed(root.children))
    while stack:
        item = stack.pop()
        if item.children and item.address in opened:
            frames.append(item)
            stack.extend(reversed(item.children))
        else:
            boxes.append(item)
    return [*frames, *boxes]
