"""The tree that boxes open along: module calls, repeats of one structure, and chunks of long lists.

Every group is an interval of the forward order, so collapsing any set of groups leaves a graph without cycles, also
when a module is called again later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from threading import Lock
from typing import Literal, NamedTuple

Role = Literal["node", "module", "repeat", "step", "chunk"]


class Boxes(NamedTuple):
    """Node ids in forward order; module paths, operation names and addresses by node id.

    `marks`, by node id where there are any: blocks that differ from a pinned run otherwise are not alike.
    """

    order: Sequence[int]
    paths: Sequence[str]
    names: Sequence[str]
    labels: Sequence[str]
    marks: Sequence[str] = ()

    def path(self, position: int) -> str:
        return self.paths[self.order[position]]


_NOTHING: list[int | Item] = []
_lock = Lock()


class Item:
    """A node or a group of items; `first`, `last` are positions in the forward order (last exclusive).

    `kids` are groups, and positions for single boxes, which become items when `children` is asked for the first time:
    of 100,000 boxes a picture shows a few hundred. `typed` is the module path whose class belongs in the title.
    """

    __slots__ = (
        "_boxes",
        "_children",
        "address",
        "first",
        "kids",
        "last",
        "level",
        "node",
        "parent",
        "path",
        "role",
        "signature",
        "title",
        "typed",
    )

    def __init__(self, role: Role, address: str, title: str, path: str, boxes: Boxes, first: int) -> None:
        self.role, self.address, self.title, self.path, self.node = role, address, title, path, -1
        self.kids: list[int | Item] = _NOTHING if role == "node" else []
        self.typed = path if role == "module" else ""
        self.first, self.last, self.level, self.signature = first, first + 1, 0, -1
        self.parent: Item | None = None
        self._boxes = boxes
        self._children: list[Item] | None = None

    @property
    def size(self) -> int:
        """Boxes inside when everything is open."""
        return self.last - self.first

    @property
    def children(self) -> list[Item]:
        """What shows when it opens; always the same objects."""
        if self._children is None:
            with _lock:
                if self._children is None:
                    self._children = [self._box(kid) if isinstance(kid, int) else kid for kid in self.kids]
        return self._children

    @property
    def groups(self) -> list[Item]:
        """Children that can open."""
        return [kid for kid in self.kids if not isinstance(kid, int)]

    def _box(self, position: int) -> Item:
        node = self._boxes.order[position]
        item = Item("node", self._boxes.labels[node], "", self._boxes.paths[node], self._boxes, position)
        item.node, item.parent, item.level = node, self, self.level + 1
        return item


def module_tree(boxes: Boxes) -> Item:
    """Groups by module call alone, without levels that would open onto a single thing."""
    root = Item("module", "", "", "", boxes, 0)
    stack: list[Item] = [root]
    calls: Counter[str] = Counter()
    position = 0
    for path, run in groupby(boxes.order, key=boxes.paths.__getitem__):
        while stack[-1].path and not (path == stack[-1].path or path.startswith(stack[-1].path + ".")):
            stack.pop().last = position
        for step in _steps(stack[-1].path, path):
            address = f"{step}@{calls[step]}" if calls[step] else step
            calls[step] += 1
            group = Item("module", address, step.rsplit(".", 1)[-1], step, boxes, position)
            stack[-1].kids.append(group)
            stack.append(group)
        following = position + sum(1 for _ in run)
        stack[-1].kids.extend(range(position, following))
        position = following
    for group in stack:
        group.last = len(boxes.order)
    for group in postorder(root):
        drop_single_levels(group)
    return root


def _steps(above: str, path: str) -> list[str]:
    if path == above:
        return []
    rest = path[len(above) + 1 :] if above else path
    parts = rest.split(".")
    prefix = f"{above}." if above else ""
    return [prefix + ".".join(parts[: i + 1]) for i in range(len(parts))]


def drop_single_levels(group: Item) -> None:
    """Replace children that would open onto a single thing by that thing."""
    for number, kid in enumerate(group.kids):
        while not isinstance(kid, int) and len(kid.kids) == 1:
            inner = kid.kids[0]
            if not isinstance(inner, int):
                inner.title = f"{kid.title}.{inner.title}"
            group.kids[number] = kid = inner


def codes_of(boxes: Boxes) -> list[int]:
    """One number per position: the same for the same operation, marked alike."""
    known: dict[object, int] = {}
    if boxes.marks:
        return [known.setdefault((boxes.names[node], boxes.marks[node]), len(known)) for node in boxes.order]
    return [known.setdefault(boxes.names[node], len(known)) for node in boxes.order]


def sign(root: Item, codes: Sequence[int]) -> None:
    """Number structures: two groups get the same signature when they hold the same operations in the same shape."""
    known: dict[object, int] = {}
    start = max(codes, default=0) + 1
    for group in postorder(root):
        kind = re.sub(r"\d+", "#", group.title) if group.role == "module" else group.role
        key = (kind, tuple(signatures_of(group, codes)))
        group.signature = known.setdefault(key, start + len(known))


def signatures_of(group: Item, codes: Sequence[int]) -> list[int]:
    """The structure of every child."""
    return [codes[kid] if isinstance(kid, int) else kid.signature for kid in group.kids]


def settle(root: Item, boxes: Boxes) -> None:
    """Levels, parents, and addresses that are unique whatever the modules are called."""
    taken, counts = set(boxes.labels), Counter[str]()
    for item in preorder(root):
        wanted = item.address
        while item.address in taken:
            counts[wanted] += 1
            item.address = f"{wanted}~{counts[wanted]}"
        taken.add(item.address)
        for group in item.groups:
            group.parent, group.level = item, item.level + 1


def preorder(root: Item) -> list[Item]:
    """The root and all groups inside, outermost first."""
    found, stack = [], [root]
    while stack:
        item = stack.pop()
        found.append(item)
        stack.extend(reversed(item.groups))
    return found


def postorder(root: Item) -> list[Item]:
    """The same with every group after those inside it."""
    return preorder(root)[::-1]


def groups_of(root: Item) -> dict[str, Item]:
    """Every group by address, outermost first."""
    return {item.address: item for item in preorder(root)[1:]}


def inside(root: Item, address: str) -> Item | None:
    """The group of that address as a root of its own; the whole tree for "", None when there is no such group."""
    return groups_of(root).get(address) if address else root
