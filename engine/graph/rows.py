"""The records of a graph, one per node, edge, saved slot or root: what its columns are made of and read back as."""

from __future__ import annotations

from typing import Literal

import msgspec

NodeKind = Literal["operation", "leaf", "custom_function", "view", "copy_slices", "checkpoint", "compiled", "hook"]
OwnerKind = Literal["parameter", "input", "buffer", "intermediate", ""]


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that occurs once per node, edge or slot: packed as an array on the wire."""


class TensorMetadata(Row, frozen=True, array_like=True, gc=False):
    """Shape, dtype, device of one incoming gradient (`Node._input_metadata`); shape None when symbolic."""

    shape: tuple[int, ...] | None
    dtype: str
    device: str


class Attribute(Row, frozen=True, array_like=True, gc=False):
    """A non-tensor `_saved_*` attribute, as text; `unavailable` says why it could not be read."""

    name: str
    value: str
    unavailable: str = ""


class Saved(Row, frozen=True, array_like=True, gc=False):
    """One `SavedTensor` slot, read through `_raw_saved_*` without unpacking.

    `bytes` is numel * itemsize; `storage_id` numbers distinct storages in order of discovery (None when there is no
    storage to read). `owner` names the parameter, input or buffer sharing the storage, or the operation that made it.
    `dropped` means a hook (non-reentrant checkpoint) keeps a recipe instead of the tensor.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: str
    stride: tuple[int, ...] | None
    device: str
    bytes: int
    storage_bytes: int
    storage_id: int | None
    owner: str
    owner_kind: OwnerKind
    version_saved: int | None
    version_now: int | None
    dropped: bool
    unavailable: str = ""


class Source(Row, frozen=True, array_like=True, gc=False):
    """The Python line that made a node: file name (no directory), line number, function and text of the line."""

    file: str
    line: int
    function: str
    text: str


class Node(Row, frozen=True, array_like=True, gc=False):
    """One autograd node; `id` is its index in `Graph.nodes`, `name` is `node.name()`.

    `inputs` describes the incoming gradients, one per output of the forward operation. `module` is the path of the
    innermost module whose forward made it ("" outside of modules), `variable` the leaf an AccumulateGrad belongs to.
    """

    id: int
    name: str
    kind: NodeKind
    sequence_nr: int | None
    attributes: tuple[Attribute, ...]
    inputs: tuple[TensorMetadata, ...]
    saved: tuple[Saved, ...]
    module: str
    source: Source | None
    hooks: tuple[str, ...] = ()
    variable: str = ""


class Edge(Row, frozen=True, array_like=True, gc=False):
    """`source.next_functions[output_nr]`: gradient output `output_nr` of source feeds input `input_nr` of target.

    `target` is None for an empty slot (a constant, or an input that needs no gradient).
    """

    source: int
    output_nr: int
    target: int | None
    input_nr: int


class Root(Row, frozen=True, array_like=True, gc=False):
    """One traced output: its name, the node (None when it has no grad_fn) and a note saying why where there is none."""

    name: str
    node: int | None
    input_nr: int
    shape: tuple[int, ...] | None
    dtype: str
    note: str = ""
