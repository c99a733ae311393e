"""What can be asked of the autograd graph, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.graph.column_checks import check_columns
from engine.graph.columns import EdgeColumns, Integers, NodeColumns, SlotColumns, integers, optional
from engine.graph.packing import pack_edges, pack_nodes, pack_slots
from engine.graph.row_views import Edges, Nodes
from engine.graph.rows import Attribute, Edge, Node, NodeKind, OwnerKind, Root, Row, Saved, Source, TensorMetadata
from engine.graph.slot_table import Slots
from engine.models.spec import ModelSpec
from engine.runner.contract import Limits, Result, Spec

__all__ = [
    "Attribute",
    "Classic",
    "ClassicSpec",
    "Edge",
    "Graph",
    "GraphSpec",
    "Leaf",
    "ModuleCall",
    "Node",
    "NodeKind",
    "OwnerKind",
    "PyTorchError",
    "Root",
    "Saved",
    "Source",
    "TensorMetadata",
    "Traced",
]


class Graph(Result, frozen=True, kw_only=True, dict=True):
    """The autograd graph as recorded, in columns; bytes are de-duplicated by storage.

    `nodes[i]` and `edges[i]` are rows made when asked for; what a loop over all of them needs is in the columns below
    (lists, or int64 arrays in which -1 stands for "none"), each worked out once and not to be written to.
    `saved_bytes` = parameter_bytes + input_bytes + buffer_bytes + intermediate_bytes, over slots that can be read.
    """

    node_columns: NodeColumns
    slot_columns: SlotColumns
    edge_columns: EdgeColumns
    roots: tuple[Root, ...]
    saved_bytes: int = 0
    parameter_bytes: int = 0
    input_bytes: int = 0
    buffer_bytes: int = 0
    intermediate_bytes: int = 0
    dropped_slots: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_columns(self.node_columns, self.slot_columns, self.edge_columns, self.roots)

    @classmethod
    def of(cls, nodes: Sequence[Node], edges: Sequence[Edge], roots: Sequence[Root] = (), **totals: Any) -> Graph:
        """The graph of these rows; `totals` are its further fields."""
        columns = pack_nodes(nodes), pack_slots(nodes), pack_edges(edges)
        return cls(
            node_columns=columns[0], slot_columns=columns[1], edge_columns=columns[2], roots=tuple(roots), **totals
        )

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes and {len(self.edges)} edges>"

    @cached_property
    def nodes(self) -> Nodes:
        return Nodes(self.node_columns, self.slots)

    @cached_property
    def edges(self) -> Edges:
        return Edges(self.edge_columns)

    @cached_property
    def slots(self) -> Slots:
        """What the nodes saved, a column at a time."""
        return Slots(self.slot_columns, self.saved_counts, self.node_names)

    @cached_property
    def node_names(self) -> list[str]:
        return self.node_columns.name.values()

    @cached_property
    def node_kinds(self) -> list[NodeKind]:
        return self.node_columns.kind.values()

    @cached_property
    def node_modules(self) -> list[str]:
        return self.node_columns.module.values()

    @cached_property
    def node_variables(self) -> list[str]:
        return self.node_columns.variable.values()

    @cached_property
    def node_sequence_nrs(self) -> Integers:
        return optional(self.node_columns.sequence_nr)

    @cached_property
    def node_received(self) -> list[tuple[TensorMetadata, ...]]:
        """Metadata of the gradients every node receives: `Node.inputs`; equal ones are one object."""
        return self.node_columns.inputs.values()

    @cached_property
    def saved_counts(self) -> Integers:
        """Saved slots of every node."""
        return integers(self.node_columns.saved)

    @cached_property
    def modified_nodes(self) -> frozenset[int]:
        """Nodes with a slot whose tensor was written to in place after it was saved."""
        return frozenset(self.slots.nodes[self.slots.modified].tolist())

    @cached_property
    def edge_sources(self) -> Integers:
        return integers(self.edge_columns.source)

    @cached_property
    def edge_output_nrs(self) -> Integers:
        return integers(self.edge_columns.output_nr)

    @cached_property
    def edge_targets(self) -> Integers:
        """-1 for an empty slot."""
        return optional(self.edge_columns.target)

    @cached_property
    def edge_input_nrs(self) -> Integers:
        return integers(self.edge_columns.input_nr)


class Leaf(Row, frozen=True, array_like=True, gc=False):
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

    stage: Literal["forward", "loss", "backward", "optimizer step"]
    type: str
    message: str


class ModuleCall(Row, frozen=True, array_like=True, gc=False):
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

    @property
    def on_the_way(self) -> GraphSpec | None:
        """The same without backward; not under checkpointing, whose held bytes need another forward."""
        if not self.backward or self.model.checkpoint != "off":
            return None
        return msgspec.structs.replace(self, backward=False)


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
