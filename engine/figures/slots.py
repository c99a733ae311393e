"""What slot and output numbers say: operand order, empty slots, unused outputs, saved tensors modified since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine.figures.fold import LeafUse
from engine.graph.spec import Graph, Node, Saved

LISTED = 6
"""Numbers spelled out before the rest is counted."""
ROLES = frozenset({"weight", "bias"})
"""Words in a parameter's name that already say which operand it is."""


def empty_slots(graph: Graph) -> dict[int, tuple[int, ...]]:
    """Slots of `next_functions` that lead nowhere, per node, ascending."""
    found: dict[int, list[int]] = {}
    empty = graph.edge_targets < 0
    for source, slot in zip(graph.edge_sources[empty].tolist(), graph.edge_output_nrs[empty].tolist(), strict=True):
        found.setdefault(source, []).append(slot)
    return {node: tuple(sorted(slots)) for node, slots in found.items()}


def order_matters(uses: Sequence[LeafUse], empty: Sequence[int]) -> bool:
    """Whether markers need slot numbers: several operands to tell apart that are not each called by their role."""
    names = [use.name.rpartition(".")[2] for use in uses]
    roles = {name for name in names if ROLES & set(name.split("_"))}
    return bool(uses) and len(uses) + len(empty) > 1 and len(roles) < len(uses)


def unused_outputs(graph: Graph) -> dict[int, tuple[int, ...]]:
    """Outputs that neither a node nor a traced output uses, for nodes with several; per node, ascending."""
    several = {node: set(range(len(made))) for node, made in enumerate(graph.node_received) if len(made) > 1}
    if several:
        used = np.isin(graph.edge_targets, list(several))
        for target, number in zip(graph.edge_targets[used].tolist(), graph.edge_input_nrs[used].tolist(), strict=True):
            several[target].discard(number)
    for root in graph.roots:
        if root.node in several:
            several[root.node].discard(root.input_nr)
    return {node: tuple(sorted(numbers)) for node, numbers in several.items() if numbers}


def unused_line(numbers: Sequence[int]) -> str:
    """ "output 1 unused", "outputs 1, 3 unused"."""
    return f"{'output' if len(numbers) == 1 else 'outputs'} {listed(numbers)} unused"


def listed(numbers: Sequence[int]) -> str:
    """ "0, 2", or the first few and how many more."""
    rest = f" and {len(numbers) - LISTED} more" if len(numbers) > LISTED else ""
    return ", ".join(map(str, numbers[:LISTED])) + rest


def modified_slots(nodes: Iterable[Node]) -> list[Saved]:
    """Saved slots whose tensor was written to in place after it was saved; backward refuses them."""
    return [
        slot
        for node in nodes
        for slot in node.saved
        if slot.version_saved is not None and slot.version_now is not None and slot.version_saved != slot.version_now
    ]


def modified_line(slots: int) -> str:
    """ "1 slot modified in place"."""
    return f"{slots} {'slot' if slots == 1 else 'slots'} modified in place"


def modified_tips(nodes: Iterable[Node]) -> list[str]:
    """Which slots were modified, and between which versions."""
    return [
        f"{slot.name} modified in place: version {slot.version_saved} when saved, {slot.version_now} now"
        for slot in modified_slots(nodes)[:LISTED]
    ]


def saved_by(nodes: Iterable[Node]) -> tuple[int, int]:
    """(bytes kept alive, each storage once; slots dropped by a hook)."""
    storages: dict[int, int] = {}
    loose = dropped = 0
    for node in nodes:
        for slot in node.saved:
            dropped += slot.dropped
            if slot.dropped or slot.unavailable:
                continue
            if slot.storage_id is None:
                loose += slot.bytes
            else:
                storages[slot.storage_id] = slot.storage_bytes
    return sum(storages.values()) + loose, dropped


def dropped_line(slots: int) -> str:
    """ "3 slots dropped"."""
    return f"{slots} {'slot' if slots == 1 else 'slots'} dropped"
