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
from engine.graph.saved import SavedReader
from engine.graph.spec import Attribute, Node, NodeKind, Source, TensorMetadata
from engine.graph.texts import attribute_text, name_of

_FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<text>[^\n]*)')


class NodeReader:
    """Reads the numbered nodes of one graph; keeps what is the same for every node of a class."""

    def __init__(self, owners: Owners, recording: Recording | None) -> None:
        self.owners = owners
        self.recording = recording
        self.saved = SavedReader(owners)
        self.hooks = self.saved.hooks
        self._layouts: dict[type, recorded.NodeLayout] = {}
        self._kinds: dict[str, NodeKind] = {}
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
        hooks = recorded.tensor_hooks(node.variable)
        return Node(number, node.name(), "leaf", None, (), self._incoming(node), (), module, None, hooks, variable)

    def _operation(self, number: int, node: Any, from_anomaly: bool) -> Node:
        layout = self._layouts.get(type(node))
        if layout is None:
            layout = self._layouts[type(node)] = recorded.layout_of(node)
        name = layout.name or node.name()
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = kind_of(name, layout.custom)
        sequence_nr = recorded.sequence_nr(node)
        module, source = "", None
        if self.recording is not None:
            module = self.recording.module_of(sequence_nr)
            source = self.recording.source_of(sequence_nr)
        if source is None and from_anomaly:
            source = _anomaly_source(node)
        return Node(
            number,
            name,
            kind,
            sequence_nr,
            _attributes(node, layout),
            self._incoming(node),
            self.saved.slots_of(node, layout),
            module,
            source,
        )

    def _incoming(self, node: Any) -> tuple[TensorMetadata, ...]:
        return tuple([self._tensor_metadata(metadata) for metadata in recorded.incoming(node)])

    def _tensor_metadata(self, metadata: Any) -> TensorMetadata:
        try:
            shape = tuple(metadata.shape)
            key = (shape, metadata.dtype, metadata.device)
            known = self._metadata.get(key)
        except (RuntimeError, TypeError):
            return TensorMetadata(None, name_of(metadata.dtype), name_of(metadata.device))
        if known is None:
            known = TensorMetadata(tuple(map(int, shape)), name_of(metadata.dtype), name_of(metadata.device))
            self._metadata[key] = known
        return known


def _attributes(node: Any, layout: recorded.NodeLayout) -> tuple[Attribute, ...]:
    found = [_attribute(node, name, private) for name, private in layout.plain]
    if layout.custom:
        found += [Attribute(name, attribute_text(value)) for name, value in vars(node).items()]
    return tuple(found)


def _attribute(node: Any, name: str, private: str) -> Attribute:
    try:
        return Attribute(name, attribute_text(getattr(node, private)))
    except RuntimeError as error:
        return Attribute(name, "", "freed by backward" if recorded.is_freed(error) else str(error))


def _anomaly_source(node: Any) -> Source | None:
    """The innermost frame outside torch of the traceback that anomaly mode kept."""
    inside = os.path.dirname(torch.__file__)
    for text in reversed(recorded.anomaly_traceback(node)):
        found = _FRAME.search(text)
        if found and not found["file"].startswith(inside):
            return Source(os.path.basename(found["file"]), int(found["line"]), found["function"], found["text"].strip())
    return None
