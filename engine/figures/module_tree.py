"""The module tree beside the picture: what every module of the model made in the graph, and why some made nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from engine.figures.hierarchy import Item
from engine.figures.units import format_bytes
from engine.graph.columns import integers
from engine.graph.spec import Graph, ModuleCall

NEVER_RAN, NO_NODE = "never ran", "no autograd node"


class ModuleRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One line of the module tree: path, class, autograd nodes and saved bytes of it and all below, each storage once.

    `calls` is how often it ran, -1 where nobody counted; `note` why it made no node, `saved` the bytes in words,
    `group` the address of the group to open, "" where it has none.
    """

    path: str
    type: str
    nodes: int
    saved_bytes: int
    calls: int = -1
    note: str = ""
    saved: str = ""
    group: str = ""


def module_rows(graph: Graph, modules: Sequence[ModuleCall] = ()) -> tuple[ModuleRow, ...]:
    """Rows in the order of the model, those that ran no forward too; without `modules` in the order of the nodes."""
    types = {call.path: call.type for call in modules}
    calls = {call.path: call.calls for call in modules}
    nodes = _nodes_below(graph)
    saved = _saved_below(graph)
    if not types and not any(nodes):
        return ()
    paths = dict.fromkeys([*types, *nodes])
    return tuple(
        ModuleRow(
            path,
            types.get(path, ""),
            nodes.get(path, 0),
            saved.get(path, 0),
            calls.get(path, -1),
            "" if path in nodes else NEVER_RAN if calls.get(path) == 0 else NO_NODE,
            format_bytes(saved.get(path, 0)),
        )
        for path in _with_parents_first(paths)
    )


def with_groups(rows: Sequence[ModuleRow], groups: Iterable[Item]) -> tuple[ModuleRow, ...]:
    """`rows` with the first group that stands for each; a module whose only content is another's shares its group."""
    known: dict[str, str] = {}
    for item in groups:
        if item.role == "module":
            known.setdefault(item.path, item.address)
    sizes = {row.path: row.nodes for row in rows}
    for row in reversed(rows):
        above = row.path.rpartition(".")[0]
        if row.path in known and above and sizes.get(above) == row.nodes:
            known.setdefault(above, known[row.path])
    return tuple(msgspec.structs.replace(row, group=known.get(row.path, "")) for row in rows)


def _above(path: str) -> list[str]:
    """The module itself and all around it, the model last."""
    parts = path.split(".") if path else []
    return [".".join(parts[:depth]) for depth in range(len(parts), -1, -1)]


def _nodes_below(graph: Graph) -> dict[str, int]:
    modules = graph.node_columns.module
    below: dict[str, int] = {}
    for path, count in zip(modules.table, np.bincount(integers(modules.codes), minlength=1).tolist(), strict=False):
        for above in _above(path):
            below[above] = below.get(above, 0) + count
    return below


def _saved_below(graph: Graph) -> dict[str, int]:
    """A storage that several modules below keep counts once; slots dropped or not to be read count nothing."""
    slots, modules = graph.slots, graph.node_columns.module
    if not len(slots):
        return {}
    lost = np.array([kind.dropped or bool(kind.unavailable) for kind in slots.kinds], bool)[slots.kind_codes]
    kept = np.flatnonzero(~lost)
    loose = slots.storage_ids[kept] < 0
    storages = np.where(loose, int(slots.storage_ids.max()) + 1 + kept, slots.storage_ids[kept])
    size = np.where(loose, slots.bytes[kept], slots.storage_bytes[kept])
    module = integers(modules.codes)[slots.nodes[kept]]
    paths: dict[str, int] = {}
    around = [[paths.setdefault(above, len(paths)) for above in reversed(_above(path))] for path in modules.table]
    total = np.zeros(len(paths), np.int64)
    for depth in range(max(map(len, around))):
        above = np.array([chain[depth] if depth < len(chain) else -1 for chain in around])[module]
        inside = np.flatnonzero(above >= 0)
        _, once = np.unique(above[inside] * (int(storages.max(initial=0)) + 1) + storages[inside], return_index=True)
        np.add.at(total, above[inside][once], size[inside][once])
    return {path: int(total[number]) for path, number in paths.items()}


def _with_parents_first(paths: Mapping[str, None]) -> list[str]:
    """As they come, each after the modules around it."""
    found: dict[str, None] = {}
    for path in paths:
        if path not in found:
            found.update(dict.fromkeys(above for above in reversed(_above(path)) if above in paths))
    return list(found)
