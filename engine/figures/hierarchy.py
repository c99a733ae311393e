"""The tree that boxes open along: module calls, repeats of one structure, and chunks of long lists.

Every group is an interval of the forward order, so collapsing any set of groups leaves a graph without cycles, also
when a module is called again later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from engine.figures.fold import operation_name

FANOUT = 40
"""Most children a group shows at once once the graph is over budget: what fits on a screen."""
CHUNK = 20
PERIOD = 96
"""Longest repeated structure looked for, in children; an LSTM step has about 15."""

Role = Literal["node", "module", "repeat", "step", "chunk"]


class Item:
    """A node or a group of items; `first`, `last` are positions in the forward order (last exclusive)."""

    __slots__ = ("address", "children", "first", "last", "level", "node", "path", "role", "signature", "title")

    def __init__(self, role: Role, address: str, title: str, path: str, node: int = -1, first: int = 0) -> None:
        self.role, self.address, self.title, self.path, self.node = role, address, title, path, node
        self.children: list[Item] = []
        self.first, self.last, self.level, self.signature = first, first + 1, 0, -1

    @property
    def size(self) -> int:
        """Boxes inside when everything is open."""
        return self.last - self.first


def build_tree(
    order: Sequence[int], paths: Sequence[str], names: Sequence[str], labels: Sequence[str], budget: int
) -> Item:
    """The tree over boxes `order` (node ids in forward order); paths, names and addresses are indexed by node id."""
    root = _module_tree(order, paths, labels)
    for group in _postorder(root):
        _finish(group)
    _sign(root, names)
    if len(order) > budget:
        for group in _postorder(root):
            if len(group.children) > FANOUT:
                group.children = _shorten(group, names)
        _sign(root, names)
    _settle(root)
    return root


def _settle(root: Item) -> None:
    """Levels, and addresses that are unique whatever the modules are called."""
    taken: Counter[str] = Counter()
    for item in _preorder(root):
        taken[item.address] += 1
        if taken[item.address] > 1:
            item.address = f"{item.address}~{taken[item.address] - 1}"
        for child in item.children:
            child.level = item.level + 1


def _module_tree(order: Sequence[int], paths: Sequence[str], labels: Sequence[str]) -> Item:
    root = Item("module", "", "", "")
    stack: list[Item] = [root]
    calls: Counter[str] = Counter()
    for position, node in enumerate(order):
        path = paths[node]
        while stack[-1].path and not (path == stack[-1].path or path.startswith(stack[-1].path + ".")):
            stack.pop().last = position
        for step in _steps(stack[-1].path, path):
            address = f"{step}@{calls[step]}" if calls[step] else step
            calls[step] += 1
            stack[-1].children.append(Item("module", address, step.rsplit(".", 1)[-1], step, first=position))
            stack.append(stack[-1].children[-1])
        stack[-1].children.append(Item("node", labels[node], "", path, node, position))
    for group in stack:
        group.last = len(order)
    return root


def _steps(above: str, path: str) -> list[str]:
    if path == above:
        return []
    rest = path[len(above) + 1 :] if above else path
    parts = rest.split(".")
    prefix = f"{above}." if above else ""
    return [prefix + ".".join(parts[: i + 1]) for i in range(len(parts))]


def _finish(group: Item) -> None:
    """Drop levels that would open onto a single thing."""
    kept: list[Item] = []
    for child in group.children:
        while len(child.children) == 1:
            inner = child.children[0]
            if inner.role != "node":
                inner.title = f"{child.title}.{inner.title}"
            child = inner
        kept.append(child)
    group.children = kept


def _sign(root: Item, names: Sequence[str]) -> None:
    """Number structures: two items get the same signature when they hold the same operations in the same shape."""
    known: dict[object, int] = {}
    for item in _postorder(root, leaves=True):
        key: object
        if item.role == "node":
            key = names[item.node]
        else:
            kind = re.sub(r"\d+", "#", item.title) if item.role == "module" else item.role
            key = (kind, tuple(child.signature for child in item.children))
        item.signature = known.setdefault(key, len(known))


def _shorten(group: Item, names: Sequence[str]) -> list[Item]:
    items: list[Item] = []
    start = 0
    for first, period, times in _repeats([child.signature for child in group.children]):
        items += group.children[start:first]
        start = first + period * times
        items.append(_repeat(group, group.children[first:start], period, times, names))
    items += group.children[start:]
    return _chunk(group.address, items, "")


def _repeats(signatures: list[int]) -> list[tuple[int, int, int]]:
    """Stretches (first, period, times) of the period that covers most; at least three times and eight children."""
    best, best_cover = 0, 0
    for period in range(1, min(PERIOD, len(signatures) // 3) + 1):
        cover = sum(map(int.__eq__, signatures, signatures[period:]))
        if cover > best_cover * 1.02:
            best, best_cover = period, cover
    return _stretches(signatures, best) if best else []


def _stretches(signatures: list[int], period: int) -> list[tuple[int, int, int]]:
    found, first = [], 0
    for index in range(len(signatures) - period + 1):
        same = index + period < len(signatures) and signatures[index] == signatures[index + period]
        if same:
            continue
        times = (index - first) // period + 1
        if times >= 3 and times * period >= 8:
            found.append((first, period, times))
            first += times * period
            first = max(first, index + 1)
        else:
            first = index + 1
    return found


def _repeat(group: Item, children: list[Item], period: int, times: int, names: Sequence[str]) -> Item:
    pattern = _pattern(children[:period], names)
    base = f"{group.address}/{pattern}"
    position = children[0].first
    repeat = _group("repeat", f"{base}×{times}#{position}", f"{times} × {pattern}", group.path, children)
    if period == 1:
        steps = children
    else:
        steps = [
            _group(
                "step",
                f"{base}#{position}/{i}",
                f"repeat {i}",
                group.path,
                children[i * period : (i + 1) * period],
            )
            for i in range(times)
        ]
    repeat.children = _chunk(repeat.address, steps, pattern)
    return repeat


def _pattern(children: list[Item], names: Sequence[str]) -> str:
    words = [operation_name(names[c.node]) if c.role == "node" else _numbered(c) for c in children]
    words = [word for i, word in enumerate(words) if word not in words[max(0, i - 1) : i]]
    return " → ".join(words) if len(words) <= 3 else f"{words[0]} → … → {words[-1]}"


def _numbered(group: Item) -> str:
    """ "layers.7" -> "layers.#": what a module is called in a list of its like."""
    tail = group.path.split(".")[-2:] if group.title.isdigit() else [group.title]
    return ".".join([*tail[:-1], re.sub(r"\d+$", "#", tail[-1])])


def _chunk(base: str, items: list[Item], pattern: str) -> list[Item]:
    counted = list(range(len(items) + 1))
    while len(items) > FANOUT:
        size = -(-len(items) // -(-len(items) // CHUNK))
        groups, bounds = [], []
        for start in range(0, len(items), size):
            part = items[start : start + size]
            low, high = counted[start], counted[min(start + size, len(items))] - 1
            what = "repeats" if pattern else "nodes" if part[0].role == "node" else "parts"
            title = f"{what} {low}–{high}"
            groups.append(
                _group("chunk", f"{base}/{low}–{high}", title, part[0].path, part) if len(part) > 1 else part[0]
            )
            bounds.append(low)
        counted = [*bounds, counted[-1]]
        items = groups
    return items


def _group(role: Role, address: str, title: str, path: str, children: list[Item]) -> Item:
    made = Item(role, address, title, path, first=children[0].first)
    made.last, made.children = children[-1].last, children
    return made


def _preorder(root: Item) -> list[Item]:
    found, stack = [], [root]
    while stack:
        item = stack.pop()
        found.append(item)
        stack.extend(reversed(item.children))
    return found


def _postorder(root: Item, leaves: bool = False) -> list[Item]:
    return [item for item in reversed(_preorder(root)) if leaves or item.children]


def groups_of(root: Item) -> dict[str, Item]:
    """Every group by address, outermost first."""
    return {item.address: item for item in _preorder(root) if item.children and item is not root}


def inside(root: Item, address: str) -> Item | None:
    """The group of that address as a root of its own; the whole tree for "", None when there is no such group."""
    return groups_of(root).get(address) if address else root


def expand_automatically(root: Item, budget: int) -> frozenset[str]:
    """Open level by level while at most `budget` boxes show: all groups of one structure, else the first as example."""
    opened: set[str] = set()
    visible = len(root.children)
    level = [child for child in root.children if child.children]
    while level:
        batches: dict[int, list[Item]] = {}
        for item in sorted(level, key=lambda item: item.first):
            batches.setdefault(item.signature, []).append(item)
        level = []
        for batch in sorted(batches.values(), key=lambda group: sum(len(item.children) - 1 for item in group)):
            for part in (batch, batch[:1]):
                cost = sum(len(item.children) - 1 for item in part)
                if visible + cost <= budget:
                    visible += cost
                    opened.update(item.address for item in part)
                    level += [child for item in part for child in item.children if child.children]
                    break
    return frozenset(opened)


def expand_named(root: Item, wanted: Sequence[str], ceiling: int) -> tuple[frozenset[str], int]:
    """Open the groups named in `wanted`, latest first, with all around them; (opened, how many did not fit)."""
    parents: dict[str, Item] = {}
    for item in _preorder(root):
        for child in item.children:
            parents[child.address] = item
    groups = groups_of(root)
    opened: set[str] = set()
    visible, refused = len(root.children), 0
    for address in reversed(wanted):
        chain: list[Item] = []
        item = groups.get(address, root)
        while item is not root and item.address not in opened:
            chain.append(item)
            item = parents[item.address]
        cost = sum(len(item.children) - 1 for item in chain)
        if visible + cost <= ceiling:
            visible += cost
            opened.update(item.address for item in chain)
        else:
            refused += 1
    return frozenset(opened), refused
