"""The live blocks of a moment as a tree of two levels of groups, small blocks of a group taken together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.figures.palette import meaning
from engine.figures.units import format_count
from engine.memory.ledger import NO_MODULE, Grouping, group_labels
from engine.memory.spec import MemoryTrace

LEAVES = 320
"""Blocks with a rectangle of their own; the smaller ones of a group share one."""
GROUPS = 32
"""Modules, operations or lines of one picture; deeper modules count for the one around them."""
LEVELS: dict[str, tuple[Grouping, Grouping]] = {
    "category, then module": ("category", "module"),
    "module, then category": ("module", "category"),
    "operation, then category": ("operation", "category"),
    "source line, then category": ("source line", "category"),
}


class Leaf(msgspec.Struct, frozen=True):
    """A block, or several small ones (`index` -1) of one category."""

    index: int
    category: str
    label: str
    bytes: int
    blocks: int = 1


class Group(msgspec.Struct, frozen=True):
    """A named group: groups below it, or leaves, largest first."""

    label: str
    bytes: int
    groups: tuple[Group, ...] = ()
    leaves: tuple[Leaf, ...] = ()


def memory_tree(trace: MemoryTrace, event: int, levels: str) -> Group:
    """The tree of what is alive after `event`; its bytes are all live bytes."""
    outer, inner = LEVELS[levels]
    alive = trace.blocks.alive_at(event).tolist()
    first, second = _labels(trace, event, alive, outer), _labels(trace, event, alive, inner)
    single = set(alive[:LEAVES])
    sizes, categories = trace.blocks.sizes, group_labels(trace.blocks, event, "category")
    names = trace.blocks.name.values()
    below: dict[str, dict[str, list[Leaf]]] = {}
    rest: dict[tuple[str, str, str], list[int]] = {}
    for index in alive:
        if not sizes[index]:
            continue
        place = below.setdefault(first[index], {}).setdefault(second[index], [])
        if index in single:
            label = names[index]
            for group in (first[index], second[index]):
                label = label.removeprefix(f"{group}.")
            place.append(Leaf(index, categories[index], label, int(sizes[index])))
        else:
            rest.setdefault((first[index], second[index], categories[index]), []).append(int(sizes[index]))
    for (one, two, category), small in rest.items():
        told = f"{format_count(len(small))} smaller blocks"
        below[one][two].append(Leaf(-1, category, told, sum(small), len(small)))
    return _group(
        "", [_group(name, [_leaves(two, leaves) for two, leaves in own.items()]) for name, own in below.items()]
    )


def _group(label: str, groups: Sequence[Group]) -> Group:
    ordered = tuple(sorted(groups, key=lambda one: -one.bytes))
    return Group(label, sum(one.bytes for one in ordered), ordered)


def _leaves(label: str, leaves: Sequence[Leaf]) -> Group:
    ordered = tuple(sorted(leaves, key=lambda one: -one.bytes))
    return Group(label, sum(one.bytes for one in ordered), (), ordered)


def _labels(trace: MemoryTrace, event: int, alive: Sequence[int], grouping: Grouping) -> dict[int, str]:
    """The group of each live block; few enough to be told apart."""
    every = group_labels(trace.blocks, event, grouping)
    labels = {index: every[index] for index in alive}
    if grouping == "category":
        return {index: meaning(label).label for index, label in labels.items()}
    if grouping == "module":
        labels = _at_one_depth(labels)
    return _largest_only(trace, labels)


def _at_one_depth(labels: dict[int, str]) -> dict[int, str]:
    """Paths cut to the greatest depth at which GROUPS are enough."""
    deepest = max((label.count(".") + 1 for label in labels.values()), default=1)
    for depth in range(deepest, 0, -1):
        cut = {
            index: label if label == NO_MODULE else ".".join(label.split(".")[:depth])
            for index, label in labels.items()
        }
        if len(set(cut.values())) <= GROUPS or depth == 1:
            return cut
    return labels


def _largest_only(trace: MemoryTrace, labels: dict[int, str]) -> dict[int, str]:
    sums: dict[str, int] = {}
    for index, label in labels.items():
        sums[label] = sums.get(label, 0) + int(trace.blocks.sizes[index])
    if len(sums) <= GROUPS:
        return labels
    kept = set(sorted(sums, key=lambda label: -sums[label])[: GROUPS - 1])
    others = f"{format_count(len(sums) - len(kept))} others"
    return {index: label if label in kept else others for index, label in labels.items()}
