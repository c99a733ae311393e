"""Long groups made short: repeated blocks as one group, loops by their steps, and chunks of what is left."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from engine.figures.fold import operation_name
from engine.figures.hierarchy import (
    Boxes,
    Item,
    Role,
    codes_of,
    module_tree,
    postorder,
    settle,
    sign,
    signatures_of,
)
from engine.figures.units import format_count

FANOUT = 40
"""Most children a group shows at once once the graph is over budget: what fits on a screen."""
CHUNK = 20
PERIOD = 96
"""Longest repeated structure looked for, in children; an LSTM step has about 15."""
TIMES = 3
"""From this many repeats on they become one group."""

Kid = int | Item


class Stretch(NamedTuple):
    """Children `first` to `first + period * times` are one structure of `period` children, `times` over."""

    first: int
    period: int
    times: int


def build_tree(
    order: Sequence[int],
    paths: Sequence[str],
    names: Sequence[str],
    labels: Sequence[str],
    budget: int,
    marks: Sequence[str] = (),
) -> Item:
    """The tree over boxes `order` (node ids in forward order); paths, names and addresses are indexed by node id.

    With more than `budget` boxes no group has more than FANOUT children. 100,000 boxes take about 0.2 s.
    """
    boxes = Boxes(order, paths, names, labels, marks)
    root = module_tree(boxes)
    if len(order) > budget:
        codes = codes_of(boxes)
        sign(root, codes)
        for group in postorder(root):
            _shorten(group, boxes, codes)
            _adopt_only_repeat(group)
        sign(root, codes)
    else:
        sign(root, codes_of(boxes))
    settle(root, boxes)
    return root


def _shorten(group: Item, boxes: Boxes, codes: Sequence[int]) -> None:
    """Repeats become groups: any in a long group, in a short one only blocks of the same module class in a row."""
    signatures = signatures_of(group, codes)
    found = repeats(signatures) if len(group.kids) > FANOUT else _blocks(group, signatures)
    kids: list[Kid] = []
    seen: Counter[str] = Counter()
    start = 0
    for first, period, times in found:
        kids += group.kids[start:first]
        start = first + period * times
        kids.append(_repeat(group, group.kids[first:start], Stretch(first, period, times), boxes, seen))
    kids += group.kids[start:]
    group.kids = _chunk(group.address, kids, boxes) if len(kids) > FANOUT else kids


def _blocks(group: Item, signatures: list[int]) -> list[Stretch]:
    """Module calls of one structure that follow one another."""
    found, first = [], 0
    for index in range(1, len(signatures) + 1):
        if index == len(signatures) or signatures[index] != signatures[first]:
            if index - first >= TIMES and not isinstance(group.kids[first], int):
                found.append(Stretch(first, 1, index - first))
            first = index
    return found


def repeats(signatures: Sequence[int]) -> list[Stretch]:
    """Stretches of the period that covers most; at least three times and eight children."""
    best, best_cover = 0, 0
    count = len(signatures)
    planes = _planes(signatures)
    for period in range(1, min(PERIOD, count // TIMES) + 1):
        if count - period <= best_cover * 1.02:
            break
        cover = _cover(planes, count, period)
        if cover > best_cover * 1.02:
            best, best_cover = period, cover
    return _stretches(signatures, best) if best else []


def _planes(signatures: Sequence[int]) -> list[int]:
    """Each byte of all signatures as one large integer: comparing 100,000 pairs is then a few exclusive ors."""
    numbers = array("Q", signatures)
    raw = numbers.tobytes()
    planes = [int.from_bytes(raw[byte :: numbers.itemsize], "little") for byte in range(numbers.itemsize)]
    return [plane for plane in planes if plane]


def _cover(planes: Sequence[int], count: int, period: int) -> int:
    """How many children are like the one `period` further on."""
    difference = 0
    for plane in planes:
        difference |= plane ^ (plane >> 8 * period)
    return difference.to_bytes(count, "little")[: count - period].count(0)


def _stretches(signatures: Sequence[int], period: int) -> list[Stretch]:
    found, first = [], 0
    for index in range(len(signatures) - period + 1):
        if index + period < len(signatures) and signatures[index] == signatures[index + period]:
            continue
        times = (index - first) // period + 1
        if times >= TIMES and times * period >= 8:
            found.append(Stretch(first, period, times))
            first = max(first + times * period, index + 1)
        else:
            first = index + 1
    return found


def _repeat(group: Item, kids: list[Kid], stretch: Stretch, boxes: Boxes, seen: Counter[str]) -> Item:
    """One group for the stretch; its address counts groups of one pattern, so that other parts of a graph may grow."""
    pattern = _pattern(kids[: stretch.period], boxes)
    address = f"{group.address}/{pattern}×#{seen[pattern]}"
    seen[pattern] += 1
    repeat = _group("repeat", address, f"{format_count(stretch.times)} × {pattern}", group.path, kids, boxes)
    if stretch.period == 1:
        block = kids[0]
        repeat.typed = "" if isinstance(block, int) else block.typed
    else:
        word = "step" if _is_loop(kids, stretch, boxes) else "repeat"
        parts = [kids[i * stretch.period : (i + 1) * stretch.period] for i in range(stretch.times)]
        repeat.kids = [
            _group("step", f"{address}/{i}", f"{word} {i}", group.path, part, boxes) for i, part in enumerate(parts)
        ]
    repeat.kids = _chunk(address, repeat.kids, boxes)
    return repeat


def _is_loop(kids: Sequence[Kid], stretch: Stretch, boxes: Boxes) -> bool:
    """Whether every repeat runs the same modules, as time steps do and layers in a row do not."""
    once = [_path(kid, boxes) for kid in kids[: stretch.period]]
    return all(_path(kid, boxes) == once[i % stretch.period] for i, kid in enumerate(kids))


def _path(kid: Kid, boxes: Boxes) -> str:
    return boxes.path(kid) if isinstance(kid, int) else kid.path


def _pattern(kids: Sequence[Kid], boxes: Boxes) -> str:
    words = [operation_name(boxes.names[boxes.order[k]]) if isinstance(k, int) else _numbered(k) for k in kids]
    words = [word for i, word in enumerate(words) if word not in words[max(0, i - 1) : i]]
    return " → ".join(words) if len(words) <= 3 else f"{words[0]} → … → {words[-1]}"


def _numbered(group: Item) -> str:
    """ "layers.7" -> "layers.#": what a module is called in a list of its like."""
    tail = group.path.split(".")[-2:] if group.title.isdigit() else [group.title]
    return ".".join([*tail[:-1], re.sub(r"\d+$", "#", tail[-1])])


def _chunk(base: str, kids: list[Kid], boxes: Boxes) -> list[Kid]:
    """At most FANOUT children, by grouping about CHUNK neighbours at a time, and those again."""
    words = _plural(kids)
    bounds = list(range(len(kids) + 1))
    while len(kids) > FANOUT:
        size = -(-len(kids) // -(-len(kids) // CHUNK))
        groups: list[Kid] = []
        starts = range(0, len(kids), size)
        for start in starts:
            part = kids[start : start + size]
            low, high = bounds[start], bounds[min(start + size, len(kids))] - 1
            path = _path(part[0], boxes)
            made = _group("chunk", f"{base}/{low}–{high}", f"{words} {low}–{high}", path, part, boxes)
            groups.append(made if len(part) > 1 else part[0])
        bounds = [*(bounds[start] for start in starts), bounds[-1]]
        kids = groups
    return kids


def _plural(kids: Sequence[Kid]) -> str:
    """What a chunk of these is called: by the word all titles begin with, where they have one."""
    if all(isinstance(kid, int) for kid in kids):
        return "nodes"
    groups = [kid for kid in kids if not isinstance(kid, int)]
    if len(groups) == len(kids) and all(kid.title == str(i) for i, kid in enumerate(groups)):
        return groups[0].path.rpartition(".")[0].rpartition(".")[2] or "parts"
    starts = {re.sub(r" ?\d+$", "", kid.title) for kid in groups if kid.role == "step"}
    return f"{starts.pop()}s" if len(starts) == 1 else "parts"


def _adopt_only_repeat(group: Item) -> None:
    """A group whose only child is a repeat opens onto the repeats themselves and says so in its title."""
    only = group.kids[0] if len(group.kids) == 1 else None
    if isinstance(only, Item) and only.role == "repeat":
        group.kids, group.typed = only.kids, only.typed
        group.title = only.title if only.typed or not group.title else f"{group.title}: {only.title}"


def _group(role: Role, address: str, title: str, path: str, kids: list[Kid], boxes: Boxes) -> Item:
    last = kids[-1]
    made = Item(role, address, title, path, boxes, kids[0] if isinstance(kids[0], int) else kids[0].first)
    made.last, made.kids = last + 1 if isinstance(last, int) else last.last, kids
    return made
