"""What the JSON export of a graph holds, field by field; `python -m engine.figures.schema` prints it as JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

FORMAT: Literal["torch-atlas-graph"] = "torch-atlas-graph"
VERSION: Literal[1] = 1
"""Goes up when a field is renamed, removed or changes its meaning; new fields may come at any time."""

Id = Annotated[int, Meta(ge=0, description="Index into `nodes`.")]
Bytes = Annotated[int, Meta(ge=0, description="Bytes.")]
Shape = Annotated[
    list[int] | None, Meta(description="Sizes by dimension, [] for a scalar, null where symbolic or not readable.")
]
Dtype = Annotated[str, Meta(description='Data type as PyTorch prints it, with or without "torch." before it.')]
Device = Annotated[str, Meta(description='Device, for example "cpu" or "cuda:0".')]
OwnerKind = Annotated[
    Literal["parameter", "input", "buffer", "intermediate", ""],
    Meta(description="What the tensor is to the model; empty where not known."),
]


class TensorMetadata(msgspec.Struct):
    """One gradient that a node receives, the same shape and dtype as that output of the forward operation."""

    shape: Shape
    dtype: Dtype
    device: Device


class Attribute(msgspec.Struct):
    """A `_saved_*` attribute of the node that is no tensor: a number, a flag, a size."""

    name: Annotated[str, Meta(description="Attribute name without `_saved_`.")]
    value: Annotated[str, Meta(description="Its value as Python prints it.")]
    unavailable: Annotated[str, Meta(description="Why it could not be read; empty when it was.")] = ""


class Saved(msgspec.Struct):
    """One tensor that the node keeps for backward, read through `_raw_saved_*` without unpacking it."""

    name: Annotated[str, Meta(description="Slot name without `_saved_`.")]
    shape: Shape
    dtype: Dtype
    stride: Annotated[list[int] | None, Meta(description="`Tensor.stride()`, in elements.")]
    device: Device
    bytes: Annotated[int, Meta(ge=0, description="`numel() * itemsize` of the slot, in bytes.")]
    storage_bytes: Annotated[
        int, Meta(ge=0, description="Bytes of the storage below it, which other slots may share (`untyped_storage()`).")
    ]
    storage_id: Annotated[
        int | None, Meta(description="The same number means the same memory; null when there is no storage to read.")
    ]
    owner: Annotated[str, Meta(description="Name of the tensor whose storage it is, or of the operation that made it.")]
    owner_kind: OwnerKind
    version_saved: Annotated[int | None, Meta(description="`Tensor._version` when it was saved.")]
    version_now: Annotated[int | None, Meta(description="`Tensor._version` now; different means modified in place.")]
    dropped: Annotated[bool, Meta(description="A hook (checkpointing) keeps a recipe in place of the tensor.")]
    unavailable: Annotated[str, Meta(description="Why the slot could not be read; empty when it was.")] = ""


class Source(msgspec.Struct):
    """The line of Python that made the node."""

    file: Annotated[str, Meta(description="File name without its directory.")]
    line: Annotated[int, Meta(description="Line number, from 1.")]
    function: Annotated[str, Meta(description="Function the line is in.")]
    text: Annotated[str, Meta(description="The line itself.")]


class Node(msgspec.Struct):
    """One autograd node: an operation of the forward, or a leaf's AccumulateGrad."""

    id: Annotated[int, Meta(ge=0, description="Its index in `nodes`.")]
    name: Annotated[str, Meta(description="`node.name()`, for example AddmmBackward0.")]
    kind: Annotated[
        Literal["operation", "leaf", "custom_function", "view", "copy_slices", "checkpoint", "compiled", "hook"],
        Meta(description="What sort of node it is; leaf means AccumulateGrad."),
    ]
    sequence_nr: Annotated[
        int | None, Meta(description="`_sequence_nr()`: grows in the order of the forward; null for leaves.")
    ]
    attributes: Annotated[list[Attribute], Meta(description="Saved attributes that are no tensors.")]
    inputs: Annotated[
        list[TensorMetadata], Meta(description="`_input_metadata`: one gradient per output of the forward operation.")
    ]
    saved: Annotated[list[Saved], Meta(description="Tensors kept for backward.")]
    module: Annotated[str, Meta(description="Path of the innermost module whose forward made it; empty outside.")]
    source: Source | None
    hooks: Annotated[list[str], Meta(description="Hooks registered on it, by name.")] = []
    variable: Annotated[str, Meta(description="The leaf whose `.grad` it accumulates into; empty otherwise.")] = ""
    address: Annotated[
        str, Meta(description="Stable name, unique in the graph: module path, name and a running number.")
    ] = ""


class Edge(msgspec.Struct):
    """`nodes[source].next_functions[output_nr] == (nodes[target], input_nr)`: a gradient flows from source to target.

    In the forward the tensor went the other way: output `input_nr` of target was used by source.
    """

    source: Id
    output_nr: Annotated[int, Meta(ge=0, description="Place in the source's `next_functions`.")]
    target: Annotated[
        int | None, Meta(description="Index into `nodes`; null for an empty slot: a constant, or needs no gradient.")
    ]
    input_nr: Annotated[int, Meta(ge=0, description="Which incoming gradient of the target it adds to.")]


class Root(msgspec.Struct):
    """One output that was traced."""

    name: Annotated[str, Meta(description="Name of the output.")]
    node: Annotated[int | None, Meta(description="Index of its `grad_fn` in `nodes`; null when it has none.")]
    input_nr: Annotated[int, Meta(ge=0, description="`output_nr` of the tensor: which output of the node it is.")]
    shape: Shape
    dtype: Dtype
    note: Annotated[str, Meta(description="Why there is no `grad_fn`; empty when there is one.")] = ""


class Leaf(msgspec.Struct):
    """A parameter, input or other named tensor after backward."""

    name: Annotated[str, Meta(description="Its name, as in `named_parameters()`.")]
    kind: OwnerKind
    shape: Annotated[list[int], Meta(description="Sizes by dimension.")]
    dtype: Dtype
    requires_grad: bool
    is_leaf: bool
    uses: Annotated[int, Meta(ge=0, description="Edges into its AccumulateGrad.")]
    grad_norm: Annotated[float | None, Meta(description="2-norm of `.grad`; null when there is none or not finite.")]
    grad_dtype: Dtype
    grad_layout: Annotated[str, Meta(description="`.grad.layout`; empty when there is none.")]
    why: Annotated[str, Meta(description="Code of the reason why `.grad` is None; empty when it is not.")]
    explanation: Annotated[str, Meta(description="The same reason as a sentence.")]


class Module(msgspec.Struct):
    """A module of the model."""

    path: Annotated[str, Meta(description="As in `named_modules()`.")]
    type: Annotated[str, Meta(description="Class name.")]
    nodes: Annotated[int, Meta(ge=0, description="Autograd nodes made by it and everything below it.")]
    calls: Annotated[int, Meta(ge=0, description="How often its forward ran.")] = 1


class GraphFile(msgspec.Struct, kw_only=True):
    """The autograd graph of one forward, as PyTorch recorded it. Quantities are in bytes and elements."""

    format: Annotated[Literal["torch-atlas-graph"], Meta(description="Says what file this is.")]
    version: Annotated[Literal[1], Meta(description="Of this schema.")]
    saved_bytes: Annotated[int, Meta(ge=0, description="Bytes kept for backward, each storage counted once.")]
    parameter_bytes: Annotated[int, Meta(ge=0, description="Of it storages of parameters.")]
    input_bytes: Annotated[int, Meta(ge=0, description="Of it storages of inputs.")]
    buffer_bytes: Annotated[int, Meta(ge=0, description="Of it storages of buffers.")]
    intermediate_bytes: Annotated[int, Meta(ge=0, description="Of it everything else.")]
    dropped_slots: Annotated[int, Meta(ge=0, description="Saved slots that a hook keeps as a recipe.")]
    notes: Annotated[list[str], Meta(description="What the reader of the graph had to leave out, in words.")]
    roots: Annotated[list[Root], Meta(description="The outputs the graph was traced from.")]
    leaves: Annotated[list[Leaf], Meta(description="Parameters and inputs; empty when only a graph was traced.")]
    modules: Annotated[list[Module], Meta(description="Modules of the model; empty when only a graph was traced.")]
    nodes: Annotated[list[Node], Meta(description="All nodes; a node's id is its index here.")]
    edges: Annotated[list[Edge], Meta(description="All edges, empty slots included.")]


def graph_schema() -> str:
    """JSON Schema (2020-12) of what `graph_json` writes, indented."""
    _, parts = msgspec.json.schema_components([GraphFile], ref_template="#/$defs/{name}")
    for part in parts.values():
        part["required"] = list(part["properties"])  # the file leaves no field out
        for field in part["properties"].values():
            field.pop("default", None)
    top: dict[str, Any] = parts.pop("GraphFile")
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Autograd graph exported by Torch Atlas",
        **{name: value for name, value in top.items() if name != "title"},
        "$defs": parts,
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


if __name__ == "__main__":
    print(graph_schema(), end="")
