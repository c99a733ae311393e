"""Frames inside frames: every open group is laid out on its own and then placed as one item of its parent.

So frames never overlap anything, and a group's picture does not change when another one opens.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import msgspec

from engine.figures.drawings import drawing_of
from engine.figures.hierarchy import Item
from engine.figures.level import Curve, Drawing, Level, Link

PAD_X = 14.0
HEADER = 40.0
FOOTER = 14.0
MERGED = 5
"""From this many wires into one box on, they are drawn as one line that others join."""

Size = tuple[float, float]
Place = tuple[float, float, float, float]
"""x, y of the top left corner, width, height."""


class Picture(msgspec.Struct, frozen=True):
    """Places of all visible boxes and open frames by address, one curve per wire, and the size of it all."""

    boxes: dict[str, Place]
    frames: dict[str, Place]
    curves: tuple[Curve, ...]
    width: float
    height: float


class _Frame:
    """One open group while it is being laid out: its items and ports, and links by (line, from, to)."""

    __slots__ = ("drawing", "index", "links", "order", "ports_in", "ports_out", "sizes")

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.links: dict[tuple[str, str, str], int] = {}
        self.ports_in: dict[str, tuple[int, int, str]] = {}
        self.ports_out: dict[str, tuple[int, int, str]] = {}
        self.order: list[str] = []
        self.sizes: dict[str, Size] = {}
        self.drawing = Drawing((), (), (), 0.0, 0.0, (), 0)

    def centre(self, name: str) -> tuple[float, float]:
        number = self.index[name]
        return self.drawing.x[number], self.drawing.y[number]


def compose(
    root: Item,
    opened: frozenset[str],
    wires: Sequence[Ends],
    size_of: Callable[[Item], Size],
    header_of: Callable[[Item], float],
    aspect: float,
    backward: bool,
    deadline: Callable[[], None],
) -> Picture:
    """Lay out everything visible. `wires` join visible boxes, source before target; `header_of` is a title's width.

    `deadline` is called now and then, and may raise to give up.
    `backward` turns the page by 180 degrees: the loss on top and every curve from the loss towards the leaves.
    """
    parents = visible_parents(root, opened)
    frames: dict[str, _Frame] = {item.address: _Frame() for item in _open_groups(root, opened)}
    lines = _lines(wires)
    routes = [_route(frames, parents, line, *wire[:2]) for line, wire in zip(lines, wires, strict=True)]
    for group in reversed(_open_groups(root, opened)):
        _lay_out_frame(group, frames, size_of, aspect, deadline)
        frame = frames[group.address]
        inner = max(frame.drawing.width, math.ceil(header_of(group)) - 2 * PAD_X if group is not root else 0.0)
        size = (inner + 2 * PAD_X, frame.drawing.height + HEADER + FOOTER)
        if group is not root:
            frames[parents[group.address].address].sizes[group.address] = size
    picture = _assemble(root, opened, frames, routes, FOOTER if backward else HEADER)
    return _turned(picture) if backward else picture


def visible_parents(root: Item, opened: frozenset[str]) -> dict[str, Item]:
    """The open group around every visible box and frame."""
    return {child.address: group for group in _open_groups(root, opened) for child in group.children}


def _open_groups(root: Item, opened: frozenset[str]) -> list[Item]:
    found, stack = [], [root]
    while stack:
        group = stack.pop()
        found.append(group)
        stack.extend(child for child in reversed(group.children) if child.children and child.address in opened)
    return found


def _ancestors(parents: Mapping[str, Item], item: Item) -> list[Item]:
    """The box itself, its frame, the frame around that ... up to the root."""
    chain = [item]
    while (above := parents.get(chain[-1].address)) is not None:
        chain.append(above)
    return chain


Ends = tuple[Item, Item, bool]
"""Two boxes that a wire joins, source first, and whether only run A has it."""
Step = tuple[str, tuple[str, str, str]]
"""(frame address, link key) of one piece of a wire."""


def _lines(wires: Sequence[Ends]) -> list[str]:
    """Wires of one line run together: all from one box, or all into a box that very many lead to.

    What only run A has runs on lines of its own, so that it covers nothing that is there.
    """
    arriving = Counter((target.address, gone) for _, target, gone in wires)
    return [
        f"{'gone ' if gone else ''}"
        + (f"to {target.address}" if arriving[target.address, gone] >= MERGED else f"from {source.address}")
        for source, target, gone in wires
    ]


def _route(frames: dict[str, _Frame], parents: Mapping[str, Item], line: str, source: Item, target: Item) -> list[Step]:
    """Register the pieces of one wire: out of its frames, across, and into the target's frames."""
    up, down = _ancestors(parents, source), _ancestors(parents, target)
    while len(up) > 1 and len(down) > 1 and up[-2] is down[-2]:
        up.pop()
        down.pop()
    ahead, back = (source.first, target.first, line), (target.first, source.first, line)
    steps: list[Step] = []
    for inner, group in pairwise(up[:-1]):
        ports = frames[group.address].ports_out
        ports[line] = min(back, ports.get(line, back))
        steps.append((group.address, (line, inner.address, f"out\0{line}")))
    steps.append((up[-1].address, (line, up[-2].address, down[-2].address)))
    for group, inner in pairwise(reversed(down[:-1])):
        ports = frames[group.address].ports_in
        ports[line] = min(ahead, ports.get(line, ahead))
        steps.append((group.address, (line, f"in\0{line}", inner.address)))
    for address, key in steps:
        frames[address].links.setdefault(key, len(frames[address].links))
    return steps


def _lay_out_frame(
    group: Item,
    frames: dict[str, _Frame],
    size_of: Callable[[Item], Size],
    aspect: float,
    deadline: Callable[[], None],
) -> None:
    frame = frames[group.address]
    ports_in = [f"in\0{line}" for line in sorted(frame.ports_in, key=frame.ports_in.__getitem__)]
    ports_out = [f"out\0{line}" for line in sorted(frame.ports_out, key=frame.ports_out.__getitem__)]
    for child in group.children:
        if child.address not in frame.sizes:
            frame.sizes[child.address] = size_of(child)
    frame.order = [*ports_in, *(child.address for child in group.children), *ports_out]
    frame.index = {name: number for number, name in enumerate(frame.order)}
    ends = {key: (frame.index[key[1]], frame.index[key[2]]) for key in frame.links}
    frame.links = {key: number for number, key in enumerate(sorted(frame.links, key=lambda key: (ends[key], key[0])))}
    bundles: dict[str, int] = {}
    links = tuple(
        Link(
            frame.index[start],
            frame.index[end],
            _port_dx(frames, frame, start, f"out\0{line}"),
            None if end not in frames else _port_dx(frames, frame, end, f"in\0{line}"),
            bundles.setdefault(line, len(bundles)),
        )
        for line, start, end in frame.links
    )
    frame.drawing = drawing_of(
        Level(
            tuple(frame.sizes.get(name, (0.0, 0.0)) for name in frame.order),
            links,
            frozenset(range(len(ports_in))),
            frozenset(range(len(frame.order) - len(ports_out), len(frame.order))),
            aspect,
        ),
        deadline,
    )


def _port_dx(frames: dict[str, _Frame], around: _Frame, name: str, port: str) -> float:
    """Where an edge leaves or enters `name`, from its centre; frames have their own ports."""
    inner = frames.get(name)
    if inner is None or not name:
        return 0.0
    extra = around.sizes[name][0] - 2 * PAD_X - inner.drawing.width
    return inner.centre(port)[0] + PAD_X + extra / 2 - around.sizes[name][0] / 2


def _assemble(
    root: Item,
    opened: frozenset[str],
    frames: dict[str, _Frame],
    routes: list[list[Step]],
    top_padding: float,
) -> Picture:
    boxes: dict[str, Place] = {}
    open_places: dict[str, Place] = {}
    origins: dict[str, tuple[float, float]] = {root.address: (0.0, 0.0)}
    for group in _open_groups(root, opened):
        frame, (left, top) = frames[group.address], origins[group.address]
        for child in group.children:
            (x, y), (width, height) = frame.centre(child.address), frame.sizes[child.address]
            place = (left + x - width / 2, top + y - height / 2, width, height)
            if child.children and child.address in opened:
                open_places[child.address] = place
                extra = width - 2 * PAD_X - frames[child.address].drawing.width
                origins[child.address] = (place[0] + PAD_X + extra / 2, place[1] + top_padding)
            else:
                boxes[child.address] = place
    curves = tuple(_join(frames, origins, steps) for steps in routes)
    outer = frames[root.address].drawing
    return Picture(boxes, open_places, curves, outer.width, outer.height)


def _join(frames: dict[str, _Frame], origins: dict[str, tuple[float, float]], steps: list[Step]) -> Curve:
    points: list[float] = []
    for address, key in steps:
        frame, (left, top) = frames[address], origins[address]
        curve = frame.drawing.curves[frame.links[key]]
        piece = [value + (top if i % 2 else left) for i, value in enumerate(curve)]
        if points and (points[-2], points[-1]) != (piece[0], piece[1]):
            points += [points[-2], points[-1], piece[0], piece[1], piece[0], piece[1]]
        points += piece[2:] if points else piece
    return tuple(points)


def _turned(picture: Picture) -> Picture:
    width, height = picture.width, picture.height

    def turn(place: Place) -> Place:
        return width - place[0] - place[2], height - place[1] - place[3], place[2], place[3]

    return Picture(
        {address: turn(place) for address, place in picture.boxes.items()},
        {address: turn(place) for address, place in picture.frames.items()},
        tuple(_turned_curve(curve, width, height) for curve in picture.curves),
        width,
        height,
    )


def _turned_curve(curve: Curve, width: float, height: float) -> Curve:
    turned = [(height if i % 2 else width) - value for i, value in enumerate(curve)]
    return tuple(value for i in range(len(turned) - 2, -1, -2) for value in (turned[i], turned[i + 1]))
