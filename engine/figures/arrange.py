"""What of a graph is open, and where everything goes on the page."""

from __future__ import annotations

import time
from typing import NamedTuple

from engine.figures.compound import Picture, compose, visible_parents
from engine.figures.drawings import Clock, Deadline
from engine.figures.hierarchy import Item
from engine.figures.labels import Labels
from engine.figures.level import OutOfTime
from engine.figures.opening import expand_automatically, expand_named
from engine.figures.view import GraphView
from engine.figures.wires import Wired, bundle_wires

ASPECTS = (1.75, 2.8, 4.2)
"""Width to height that tall frames are broken into columns for; the one that fills the page best is taken."""
PAGE = (960, 560)
"""Width and height in pixels of a canvas on a laptop."""
GAIN = 1.15
"""How much larger a wider picture must appear to be preferred: breaks cost reading, too."""
MANY = 150
"""From this many boxes on only the first aspect is tried."""
LEGIBLE = 0.36
"""Zoom at which operation names can still be read."""


AUTOMATIC_S = 1.0
"""Seconds of processor time for what opens by itself; named groups get `NAMED_S`, each coarser attempt half as much."""
NAMED_S = 2.0
SHARES = (1.0, 0.7, 0.5, 0.35, 0.25)
"""Of the boxes asked for, tried in turn until the picture can be read."""


class Arranged(NamedTuple):
    """Open groups, how many could not open, visible items (frames first), wires and where all of it is.

    `labels` are the words for exactly these; `notes` say what could not be drawn in time.
    """

    opened: frozenset[str]
    refused: int
    visible: list[Item]
    wired: Wired
    picture: Picture
    labels: Labels
    notes: tuple[str, ...] = ()


def arrange(labels: Labels, root: Item, view: GraphView, clock: Clock = time.thread_time) -> Arranged:
    """Open groups and place everything, in limited time; with `legible_in` less, until it can be read at that size.

    What takes too long is drawn coarser, with a note; in the end nothing is drawn, with a note that says so.
    """
    arranged = _automatic if view.expanded is None else _named
    return arranged(labels, root, view, clock)


def _automatic(labels: Labels, root: Item, view: GraphView, clock: Clock) -> Arranged:
    arranged, overrun, limit_s = None, 0, AUTOMATIC_S
    deadline = Deadline(limit_s, clock)
    for share in SHARES:
        opened = expand_automatically(root, max(1, int(view.maximum_boxes * share)), labels.differing)
        if arranged is None or opened != arranged.opened:
            try:
                arranged = _place(labels, root, view, opened, deadline)
            except OutOfTime:
                if arranged is not None:
                    break
                overrun, limit_s = overrun or _count(root, opened), limit_s / 2
                deadline = Deadline(limit_s, clock)
                continue
        if view.legible_in is None or _zoom(arranged.picture, view.legible_in) >= LEGIBLE:
            break
    if arranged is None:
        return _closed(labels, root, view, overrun, AUTOMATIC_S, clock)
    return arranged._replace(notes=_coarser(overrun, AUTOMATIC_S))


def _named(labels: Labels, root: Item, view: GraphView, clock: Clock) -> Arranged:
    ceiling, overrun, limit_s = max(view.ceiling_boxes, view.maximum_boxes), 0, NAMED_S
    opened, refused = expand_named(root, view.expanded or (), ceiling)
    while opened:
        try:
            arranged = _place(labels, root, view, opened, Deadline(limit_s, clock))
            return arranged._replace(refused=refused, notes=_coarser(overrun, NAMED_S))
        except OutOfTime:
            overrun, limit_s = overrun or _count(root, opened), limit_s / 2
            opened, refused = expand_named(root, view.expanded or (), _count(root, opened) // 2)
    arranged = _closed(labels, root, view, overrun, NAMED_S, clock)
    return arranged._replace(refused=refused)


def _closed(labels: Labels, root: Item, view: GraphView, overrun: int, limit_s: float, clock: Clock) -> Arranged:
    """Everything closed, or nothing at all."""
    closed: frozenset[str] = frozenset()
    try:
        arranged = _place(labels, root, view, closed, Deadline(limit_s / 2 if overrun else limit_s, clock))
        return arranged._replace(notes=_coarser(overrun, limit_s))
    except OutOfTime:
        note = (
            f"No picture: the layout of {_count(root, closed)} boxes took over {limit_s:g} s. The table has all nodes."
        )
        return Arranged(closed, 0, [], Wired([], 0, 0), Picture({}, {}, (), 0.0, 0.0), labels, (note,))


def _coarser(overrun: int, limit_s: float) -> tuple[str, ...]:
    return (f"Drawn coarser: the layout of {overrun} boxes took over {limit_s:g} s.",) if overrun else ()


def _count(root: Item, opened: frozenset[str]) -> int:
    """Boxes that show, frames aside."""
    return sum(item.address not in opened for item in _visible(root, opened))


def _zoom(picture: Picture, page: tuple[int, int]) -> float:
    return min((page[0] - 36) / max(1.0, picture.width), (page[1] - 66) / max(1.0, picture.height))


def _place(labels: Labels, root: Item, view: GraphView, opened: frozenset[str], deadline: Deadline) -> Arranged:
    visible = _visible(root, opened)
    labels = labels.seen_from({address: group.path for address, group in visible_parents(root, opened).items()})
    shown = [item for item in visible if item.address not in opened]
    wired = bundle_wires(labels.nodes, shown, len(labels.marking.own.edges))
    wires = [(bundle.source, bundle.target, bundle.gone) for bundle in wired.bundles]
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
            deadline=deadline,
        )
        for aspect in aspects
    ]
    picture = pictures[0]
    for wider in pictures[1:]:
        if _zoom(wider, view.legible_in or PAGE) > GAIN * _zoom(picture, view.legible_in or PAGE):
            picture = wider
    return Arranged(opened, 0, visible, wired, picture, labels)


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
