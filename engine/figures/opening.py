"""Which groups of a tree are open: as many as fit, or those named."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.hierarchy import Item, groups_of

SCREEN = 100
"""Up to so many boxes one of several like groups stands for all; who asks for more wants to see them."""


def expand_automatically(root: Item, budget: int, differing: Sequence[int] = ()) -> frozenset[str]:
    """Open level by level while at most `budget` boxes show: all groups of one structure, else the first as example.

    With room for over `SCREEN` boxes, what is left of the budget goes to the rest, in forward order.
    `differing` counts, for every position, the boxes before it that differ from a pinned run: where any do, only groups
    that hold such boxes open, and of several that differ alike the first.
    """
    comparing = bool(differing) and differing[-1] > 0

    def opens(group: Item) -> bool:
        return not comparing or differing[group.first] < differing[group.last]

    opened: set[str] = set()
    visible = len(root.kids)
    level = [group for group in root.groups if opens(group)]
    while level:
        batches: dict[object, list[Item]] = {}
        for item in sorted(level, key=lambda item: item.first):
            batches.setdefault(_likeness(item), []).append(item)
        level = []
        for batch in sorted(batches.values(), key=_cost):
            for part in (batch[:1],) if comparing else (batch, batch[:1]):
                cost = _cost(part)
                if visible + cost <= budget:
                    visible += cost
                    opened.update(item.address for item in part)
                    level += [group for item in part for group in item.groups if opens(group)]
                    break
    return frozenset(opened if comparing or budget <= SCREEN else _filled(root, opened, budget - visible))


def _likeness(group: Item) -> object:
    """Equal for groups of one structure, and for all parts of one list, whose last is often shorter."""
    if group.role == "chunk" and group.parent is not None:
        return group.parent.signature, group.role
    return group.signature


def _filled(root: Item, opened: set[str], room: int) -> set[str]:
    """What is open, and of the rest in forward order what fits into `room` more boxes."""
    found, stack = set(opened), list(reversed(root.groups))
    while stack:
        group = stack.pop()
        if group.address not in found and _cost((group,)) > room:
            continue
        room -= 0 if group.address in found else _cost((group,))
        found.add(group.address)
        stack.extend(reversed(group.groups))
    return found


def _cost(groups: Sequence[Item]) -> int:
    """How many more boxes show when these open."""
    return sum(len(group.kids) - 1 for group in groups)


def unknown_groups(root: Item, wanted: Sequence[str]) -> int:
    """How many of the addresses name no group of the tree; the empty one stands for none at all."""
    groups = groups_of(root)
    return sum(bool(address) and address not in groups for address in wanted)


def expand_named(root: Item, wanted: Sequence[str], ceiling: int) -> tuple[frozenset[str], int]:
    """Open the groups named in `wanted`, latest first, with all around them; (opened, how many did not fit)."""
    groups = groups_of(root)
    opened: set[str] = set()
    visible, refused = len(root.kids), 0
    for address in reversed(wanted):
        chain: list[Item] = []
        item = groups.get(address, root)
        while item is not root and item.address not in opened:
            chain.append(item)
            assert item.parent is not None
            item = item.parent
        if visible + _cost(chain) <= ceiling:
            visible += _cost(chain)
            opened.update(item.address for item in chain)
        else:
            refused += 1
    return frozenset(opened), refused
