"""Every fact of every node, once the walk has numbered them."""

from __future__ import annotations

import os
import re
from typing import Any

import torch

from engine import recorded
from engine.graph.kinds import kind_of
from engine.graph.owners import Owners
from engine.graph.recording import Recording
from engine.graph.saved import SavedReader, closed_slots, unreadable_slots
from engine.graph.spec import Attribute, Node, NodeKind, Source, TensorMetadata
from engine.graph.texts import NAMES, attribute_text
from engine.graph.wording import is_freed

_FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<text>[^\n]*)')


class NodeReader:
    """Reads the numbered nodes of one graph; keeps what is the same for every node of a class."""

    def __init__(self, owners: Owners, recording: Recording | None) -> None:
        self.owners = owners
        self.place_of = recording.place_of if recording is not None else _nowhere
        self.saved = SavedReader(owners)
        self.hooks = self.saved.hooks
        self._classes: dict[type, _NodeClass] = {}
        self._metadata: dict[Any, TensorMetadata] = {}

    def read(self) -> list[Node]:
        """Leaves are named first, so that a saved tensor finds its owner wherever the leaf comes in the walk."""
        nodes = self.owners.nodes
        leaves = {node: self.owners.leaf(node.variable) for node in nodes if type(node).__name__ == "AccumulateGrad"}
        from_anomaly = bool(nodes) and bool(recorded.anomaly_traceback(nodes[0]))
        return [
            self._leaf(number, node, *leaves[node]) if node in leaves else self._operation(number, node, from_anomaly)
            for number, node in enumerate(nodes)
        ]

    def _leaf(self, number: int, node: Any, variable: str, owner_kind: str) -> Node:
        module = variable.rpartition(".")[0] if owner_kind == "parameter" else ""
        tensor = node.variable
        hooks = recorded.tensor_hooks(tensor) if recorded.leaf_hooks(tensor) else ()
        incoming = self._incoming(node)
        return Node(number, recorded.ACCUMULATE, "leaf", None, (), incoming, (), module, None, hooks, variable)

    def _operation(self, number: int, node: Any, from_anomaly: bool) -> Node:
        known = self._classes.get(type(node))
        if known is None:
            known = self._classes[type(node)] = _NodeClass(node)
        name, kind = known.fixed or known.name_and_kind(node)
        sequence_nr = recorded.read_sequence_nr(node)
        module, source = self.place_of(sequence_nr)
        if source is None and from_anomaly:
            source = _anomaly_source(node)
        attributes = known.attributes(node) if known.has_attributes else ()
        incoming = self._incoming(node)
        saved = known.unreadable
        if known.slots:
            try:
                held = known.read_slots(node)
                saved = self.saved.slots_of(node, known.slots, held if known.several else (held,), incoming)
            except RuntimeError as error:
                saved = unreadable_slots(known.slots, error)
        shown = sequence_nr if sequence_nr < recorded.LEAF_SEQUENCE else None
        return Node(number, name, kind, shown, attributes, incoming, saved, module, source)

    def _incoming(self, node: Any) -> tuple[TensorMetadata, ...]:
        found = []
        for metadata in recorded.read_incoming(node):
            try:
                shape, dtype, device = recorded.read_metadata(metadata)
                key = (dtype, device, *shape)
                known = self._metadata.get(key)
            except (RuntimeError, TypeError):
                found.append(TensorMetadata(None, NAMES[metadata.dtype], NAMES[metadata.device]))
                continue
            if known is None:
                known = self._metadata[key] = TensorMetadata(recorded.plain_shape(shape), NAMES[dtype], NAMES[device])
            found.append(known)
        return tuple(found)


def _nowhere(sequence_nr: int) -> tuple[str, Source | None]:
    return "", None


class _NodeClass:
    """What is the same for every node of a class, and the attribute texts seen so far."""

    def __init__(self, node: Any) -> None:
        self.layout = recorded.layout_of(node)
        self._named: dict[str, tuple[str, NodeKind]] = {}
        self.fixed = self._name(self.layout.name) if self.layout.name is not None else None
        self.slots, self.read_slots = self.layout.slots, self.layout.read_slots
        self.several = len(self.slots) > 1
        self.unreadable = closed_slots(node.name()) if recorded.is_closed(node) else ()
        self.has_attributes = self.layout.custom or bool(self.layout.plain)
        self._attributes: dict[Any, tuple[Attribute, ...]] = {}

    def name_and_kind(self, node: Any) -> tuple[str, NodeKind]:
        return self._name(node.name())

    def _name(self, name: str) -> tuple[str, NodeKind]:
        if name not in self._named:
            self._named[name] = name, kind_of(name, self.layout.custom)
        return self._named[name]

    def attributes(self, node: Any) -> tuple[Attribute, ...]:
        """Non-tensor attributes; nodes with equal values share one tuple, 1 and 1.0 and True being different values."""
        if self.layout.custom or not self.layout.plain:
            return _attributes(node, self.layout)
        try:
            values = self.layout.read_plain(node)
            several = type(values) is tuple and len(self.layout.plain) > 1
            key = (values, *map(type, values)) if several else (values, type(values))
            known = self._attributes.get(key)
        except (RuntimeError, TypeError):
            return _attributes(node, self.layout)
        if known is None:
            known = _attributes(node, self.layout)
            if not _has_float_zero(values):
                self._attributes[key] = known
        return known


def _has_float_zero(value: Any) -> bool:
    """0.0 equals -0.0, but reads differently."""
    if isinstance(value, tuple):
        return any(map(_has_float_zero, value))
    return isinstance(value, (float, complex)) and value == 0


def _attributes(node: Any, layout: recorded.NodeLayout) -> tuple[Attribute, ...]:
    found = [_attribute(node, name, private) for name, private in layout.plain]
    if layout.custom:
        found += [Attribute(name, attribute_text(value)) for name, value in vars(node).items()]
    return tuple(found)


def _attribute(node: Any, name: str, private: str) -> Attribute:
    try:
        return Attribute(name, attribute_text(getattr(node, private)))
    except RuntimeError as error:
        return Attribute(name, "", "freed by backward" if is_freed(error) else str(error))


def _anomaly_source(node: Any) -> Source | None:
    """The innermost frame outside torch of the traceback that anomaly mode kept."""
    inside = os.path.dirname(torch.__file__)
    for text in reversed(recorded.anomaly_traceback(node)):
        found = _FRAME.search(text)
        if found and not found["file"].startswith(inside):
            return Source(os.path.basename(found["file"]), int(found["line"]), found["function"], found["text"].strip())
    return None
