"""What can be asked of the autograd graph, and what comes back."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.models.spec import ModelSpec
from engine.runner.contract import Limits, Result, Spec

NodeKind = Literal["operation", "leaf", "custom_function", "view", "copy_slices", "checkpoint", "compiled", "hook"]
OwnerKind = Literal["parameter", "input", "buffer", "intermediate", ""]


class _Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that occurs once per node, edge or slot: packed as an array on the wire."""


class TensorMetadata(_Row, frozen=True, array_like=True, gc=False):
    """Shape, dtype, device of one incoming gradient (`Node._input_metadata`); shape None when symbolic."""

    shape: tuple[int, ...] | None
    dtype: str
    device: str


class Attribute(_Row, frozen=True, array_like=True, gc=False):
    """A non-tensor `_saved_*` attribute, as text; `unavailable` says why it could not be read."""

    name: str
    value: str
    unavailable: str = ""


class Saved(_Row, frozen=True, array_like=True, gc=False):
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


class Source(_Row, frozen=True, array_like=True, gc=False):
    """The Python line that made a node: file name (no directory), line number, function and text of the line."""

    file: str
    line: int
    function: str
    text: str


class Node(_Row, frozen=True, array_like=True, gc=False):
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


class Edge(_Row, frozen=True, array_like=True, gc=False):
    """`source.next_functions[output_nr]`: gradient output `output_nr` of source feeds input `input_nr` of target.

    `target` is None for an empty slot (a constant, or an input that needs no gradient).
    """

    source: int
    output_nr: int
    target: int | None
    input_nr: int


class Root(_Row, frozen=True, array_like=True, gc=False):
    """One traced output: its name, the node (None when it has no grad_fn) and a note saying why where there is none."""

    name: str
    node: int | None
    input_nr: int
    shape: tuple[int, ...] | None
    dtype: str
    note: str = ""


class Graph(Result, frozen=True, kw_only=True):
    """The autograd graph as recorded; bytes are de-duplicated by storage.

    `saved_bytes` = parameter_bytes + input_bytes + buffer_bytes + intermediate_bytes, over slots that can be read.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    roots: tuple[Root, ...]
    saved_bytes: int = 0
    parameter_bytes: int = 0
    input_bytes: int = 0
    buffer_bytes: int = 0
    intermediate_bytes: int = 0
    dropped_slots: int = 0
    notes: tuple[str, ...] = ()


class Leaf(_Row, frozen=True, array_like=True, gc=False):
    """A parameter, input or named tensor: what it is, and after backward its gradient or why there is none.

    `why` is a code ("" when there is a gradient), `explanation` the sentence for it. `uses` counts edges into it.
    """

    name: str
    kind: OwnerKind
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    uses: int
    grad_norm: float | None
    grad_dtype: str
    grad_layout: str
    why: Literal["", "not_run", "frozen", "not_leaf", "no_path", "detached", "inference", "unused", "no_grad", "error"]
    explanation: str


class PyTorchError(msgspec.Struct, frozen=True, kw_only=True):
    """An error PyTorch raised as the lesson: where it came up and its original text."""

    stage: Literal["forward", "loss", "backward"]
    type: str
    message: str


class ModuleCall(_Row, frozen=True, array_like=True, gc=False):
    """A module of the model: path, class name, how many autograd nodes it and those below made, how often it ran."""

    path: str
    type: str
    nodes: int
    calls: int = 1


class Traced(Result, frozen=True, kw_only=True):
    """The graph of one model's forward, its leaves after backward, and what PyTorch said on the way."""

    graph: Graph
    leaves: tuple[Leaf, ...]
    modules: tuple[ModuleCall, ...]
    parameters: int
    parameter_bytes: int
    loss: float | None
    held_bytes: int | None
    """Bytes that saved tensors hold, de-duplicated by storage, what checkpointing keeps included.

    With checkpointing from a second forward under outer `saved_tensors_hooks`; without, the graph's own saved_bytes,
    which is the same number. None when the forward failed.
    """
    error: PyTorchError | None = None
    warnings: tuple[str, ...] = ()


class GraphSpec(Spec[Traced], frozen=True, kw_only=True):
    """Trace the autograd graph of `model`; with `backward` also run it and read every leaf's gradient."""

    verb: ClassVar[str] = "trace_model"
    result: ClassVar[type[Result]] = Traced
    limits: ClassVar[Limits] = Limits()

    model: ModelSpec = ModelSpec()
    backward: bool = True


class Classic(Result, frozen=True, kw_only=True):
    """torchviz's own DOT text for the same model, with cautions where it would mislead."""

    dot: str
    nodes: int
    cautions: tuple[str, ...] = ()
    error: PyTorchError | None = None


class ClassicSpec(Spec[Classic], frozen=True, kw_only=True):
    """Draw `model` with torchviz.make_dot."""

    verb: ClassVar[str] = "draw_torchviz"
    result: ClassVar[type[Result]] = Classic

    model: ModelSpec = ModelSpec()
    show_attrs: bool = False
    show_saved: bool = False
    maximum_nodes: Annotated[int, Meta(ge=1, le=10_000, description="above it torchviz is not asked")] = 300
    maximum_crossed_ranks: Annotated[
        int, Meta(ge=1, le=100_000_000, description="ranks that edges pass by; what dot's layout time grows with")
    ] = 2000
