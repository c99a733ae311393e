"""Every fact of every node, once the walk has numbered them: one column per field.

A column at a time runs the same few lines of PyTorch over all nodes, which is a fifth faster than a node at a time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from engine import recorded
from engine.graph.attributes import read_attributes
from engine.graph.columns import Coded, NodeColumns, SlotColumns, T, coded, column, recoded
from engine.graph.kinds import kind_of
from engine.graph.owners import Owners
from engine.graph.recording import NOWHERE, Recording
from engine.graph.rows import Attribute, NodeKind, Source, TensorMetadata
from engine.graph.saved import SavedReader
from engine.graph.texts import NAMES
from engine.shapes import plain_shape

_FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<text>[^\n]*)')

Received = tuple[TensorMetadata, ...]
Hooks = dict[int, tuple[str, ...]]


class _Class(NamedTuple):
    """The nodes of one class: what PyTorch offers of them, and their numbers in the walk."""

    layout: recorded.NodeLayout
    numbers: list[int]


class _Leaf(NamedTuple):
    """An AccumulateGrad: its number, and the name, module and hooks of the tensor it belongs to."""

    number: int
    variable: str
    module: str
    hooks: tuple[str, ...]


def read_nodes(
    owners: Owners, saved: SavedReader, recording: Recording | None, root_hooks: Hooks
) -> tuple[NodeColumns, SlotColumns]:
    """The columns of every numbered node, and of what they saved."""
    nodes = owners.nodes
    classes = _by_class(nodes)
    leaves = _leaves(nodes, classes, owners)
    received = _received(nodes)
    counts = _saved(nodes, classes, received, saved)
    names, kinds = _names(nodes, classes)
    numbers = np.fromiter(map(recorded.read_sequence_nr, nodes), np.uint64, len(nodes))
    modules, sources = _places(nodes, numbers, recording, leaves)
    hooks = {leaf.number: leaf.hooks for leaf in leaves if leaf.hooks} | saved.hooks | root_hooks
    variables = {leaf.number: leaf.variable for leaf in leaves}
    columns = NodeColumns(
        name=names,
        kind=kinds,
        sequence_nr=column(np.where(numbers < recorded.LEAF_SEQUENCE, numbers, np.uint64(2**64 - 1)) + np.uint64(1)),
        attributes=coded(_attributes(nodes, classes)),
        inputs=coded(received),
        saved=column(counts),
        module=modules,
        source=sources,
        hooks=_mostly((), hooks, len(nodes)),
        variable=_mostly("", variables, len(nodes)),
    )
    return columns, saved.written.columns(size for size, _ in owners.storages.values())


def _by_class(nodes: list[Any]) -> list[_Class]:
    numbers: dict[type, list[int]] = {kind: [] for kind in set(map(type, nodes))}
    for number, kind in enumerate(map(type, nodes)):
        numbers[kind].append(number)
    return [_Class(recorded.layout_of(nodes[found[0]]), found) for found in numbers.values()]


def _leaves(nodes: list[Any], classes: list[_Class], owners: Owners) -> list[_Leaf]:
    """Leaves are named first, so that a saved tensor finds its owner wherever the leaf comes in the walk."""
    numbers = [number for layout, found in classes if layout.name == recorded.ACCUMULATE for number in found]
    return [_leaf(number, nodes[number].variable, owners) for number in numbers]


def _leaf(number: int, tensor: torch.Tensor, owners: Owners) -> _Leaf:
    variable, kind = owners.leaf(tensor)
    module = variable.rpartition(".")[0] if kind == "parameter" else ""
    return _Leaf(number, variable, module, recorded.tensor_hooks(tensor) if recorded.leaf_hooks(tensor) else ())


def _names(nodes: list[Any], classes: list[_Class]) -> tuple[Coded[str], Coded[NodeKind]]:
    codes = np.zeros(len(nodes), dtype=np.int64)
    found: list[tuple[str, NodeKind]] = []
    for layout, numbers in classes:
        if layout.name is not None:
            codes[numbers] = len(found)
            found.append((layout.name, kind_of(layout.name, layout.custom)))
        else:
            codes[numbers] = np.arange(len(found), len(found) + len(numbers))
            found += [_name_and_kind(nodes[number]) for number in numbers]
    return recoded(codes, [name for name, _ in found]), recoded(codes, [kind for _, kind in found])


def _name_and_kind(node: Any) -> tuple[str, NodeKind]:
    name = node.name()
    return name, kind_of(name, custom=False)


def _mostly(usual: T, others: Mapping[int, T], count: int) -> Coded[T]:
    """A column in which only a few rows, by number, differ from what is usual."""
    codes = np.zeros(count, dtype=np.int64)
    codes[list(others)] = np.arange(1, len(others) + 1)
    return recoded(codes, [usual, *others.values()])


def _attributes(nodes: list[Any], classes: list[_Class]) -> list[tuple[Attribute, ...]]:
    column: list[tuple[Attribute, ...]] = [()] * len(nodes)
    for layout, numbers in classes:
        if layout.plain or layout.custom:
            found = read_attributes([nodes[number] for number in numbers], layout)
            for number, attributes in zip(numbers, found, strict=True):
                column[number] = attributes
    return column


def _received(nodes: list[Any]) -> list[Received]:
    """What each node receives in backward; nodes that receive the same share one tuple."""
    of = _Metadata().of
    return [
        of(found[0]) if len(found) == 1 else tuple([of(one)[0] for one in found])
        for found in map(recorded.read_incoming, nodes)
    ]


class _Metadata:
    """Metadata of incoming gradients, each once, in tables by dtype and device: these seldom change on the way."""

    def __init__(self) -> None:
        self.dtype = self.device = None
        self.tables: dict[Any, dict[Any, Received]] = {}
        self.table: dict[Any, Received] = {}

    def of(self, metadata: Any) -> Received:
        try:
            shape, dtype, device = recorded.read_metadata(metadata)
            if dtype is not self.dtype or device != self.device:
                self.dtype, self.device = dtype, device
                self.table = self.tables.setdefault((dtype, device), {})
            shape = tuple(shape)
            known = self.table.get(shape)
        except (RuntimeError, TypeError):
            return (TensorMetadata(None, NAMES[metadata.dtype], NAMES[metadata.device]),)
        if known is None:
            described = TensorMetadata(plain_shape(shape), NAMES[dtype], NAMES[device])
            known = self.table[shape] = (described,)
        return known


def _saved(nodes: list[Any], classes: list[_Class], received: list[Received], saved: SavedReader) -> list[int]:
    """Reads what every node saved, in order; how many slots each has."""
    layouts: list[recorded.NodeLayout | None] = [None] * len(nodes)
    for layout, numbers in classes:
        if layout.slots or layout.name is None:
            for number in numbers:
                layouts[number] = layout
    return [
        0 if layout is None else saved.read(node, layout, metadata)
        for node, layout, metadata in zip(nodes, layouts, received, strict=True)
    ]


def _places(
    nodes: list[Any], numbers: npt.NDArray[np.uint64], recording: Recording | None, leaves: Sequence[_Leaf]
) -> tuple[Coded[str], Coded[Source | None]]:
    """Module and line of every node; those of a leaf are told by the parameter's name, and no line."""
    bounds, places = recording.index() if recording is not None else ([], [NOWHERE])
    codes = np.searchsorted(np.array(bounds, dtype=np.uint64), numbers, side="right")
    codes[[leaf.number for leaf in leaves]] = np.arange(len(places), len(places) + len(leaves))
    modules = recoded(codes, [*(module for module, _ in places), *(leaf.module for leaf in leaves)])
    lines = coded([*(source for _, source in places), *([None] * len(leaves))])
    sources = recoded(lines.places()[codes], lines.table)
    if nodes and "traceback_" in nodes[0].metadata:
        told = zip(nodes, sources.values(), strict=True)
        sources = coded([source or _anomaly_source(node) for node, source in told])
    return modules, sources


def _anomaly_source(node: Any) -> Source | None:
    """The innermost frame outside torch of the traceback that anomaly mode kept."""
    inside = os.path.dirname(torch.__file__)
    for text in reversed(node.metadata.get("traceback_", ())):
        found = _FRAME.search(text)
        if found and not found["file"].startswith(inside):
            return Source(os.path.basename(found["file"]), int(found["line"]), found["function"], found["text"].strip())
    return None
