"""What can be asked of a backward pass, and what comes back: every node in the engine's order with its gradients."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.graph.rows import Row
from engine.graph.spec import Graph, Leaf, ModuleCall, PyTorchError
from engine.models.spec import ModelSpec
from engine.runner.contract import Limits, Result, Spec, check_ranges
from engine.summary import TensorSummary

Roots = Literal["loss", "outputs", "loss and outputs"]
GradOutputs = Literal["default", "ones", "random", "zeros", "minus ones"]
HookKind = Literal["none", "observe", "scale", "clip by value", "zero", "replace by ones", "returns nan"]
"""`observe` only looks: a leaf gets a tensor hook and a post accumulate hook that change nothing."""

LONGEST_NAME = 200
_NAME = re.compile(r"\w+(\.\w+)*", re.ASCII)


class GradientHook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that changes a gradient on its way: on a leaf (`tensor.register_hook`) or on a module.

    Of a module the gradient of its outputs (`register_full_backward_pre_hook`) or, with side="inputs", of its inputs
    (`register_full_backward_hook`); both insert BackwardHookFunction nodes around the module.
    """

    kind: HookKind = "none"
    at: str = ""
    """Qualified name of a parameter, an input or a module of the model; "" means every input that requires grad."""
    side: Literal["outputs", "inputs"] = "outputs"
    amount: Annotated[float, Meta(ge=-1e6, le=1e6, description="factor, or the bound of clip by value")] = 0.5

    def __post_init__(self) -> None:
        check_ranges(self)
        if len(self.at) > LONGEST_NAME or (self.at and _NAME.fullmatch(self.at) is None):
            raise ValueError(
                f"GradientHook.at must be a dotted name of at most {LONGEST_NAME} characters, as layers.0.weight; "
                f"received {self.at[:40]!r}. Name a parameter, an input or a module, or leave it empty for the input."
            )


class Step(Row, frozen=True, array_like=True, gc=False):
    """One call of one node by the engine, or one stretch of forward run again by a checkpoint.

    `node` is its index in `Replay.graph.nodes`; None for nodes made during backward (a reentrant checkpoint's own
    graph) or in a later forward whose graph differs. `received` has one entry per input of the node, `returned` one per
    outgoing edge slot: indices into `Replay.gradients`, None where nothing came or nothing was returned. What is
    returned for an empty slot (cat makes one for a constant) is dropped by the engine. `begun_s` counts from the start
    of its pass; both times leave out what recording itself took.
    """

    number: int
    pass_number: int
    kind: Literal["node", "accumulate", "recompute"]
    node: int | None
    name: str
    module: str
    thread: int
    """0 for the thread that called backward(), then numbered as they come up."""
    begun_s: float
    duration_s: float | None
    """None when the node raised."""
    received: tuple[int | None, ...]
    returned: tuple[int | None, ...]
    inside: int | None = None
    """The step that was still running: the node that asked for recomputation, or whose backward ran an engine."""
    operations: int = 0
    """Of a recompute step: PyTorch functions called that record nodes."""


class Accumulation(Row, frozen=True, array_like=True, gc=False):
    """What one AccumulateGrad did to its leaf in one pass; `contributions` are the uses of the leaf, in arrival order.

    A contribution is (step that returned it, output_nr), or (-1, n) for the n-th root's own seed. `before`, `after` are
    `.grad` as gradients' indices (None = no gradient). `is_exact`: the contributions added in this order, then to
    `before`, are `.grad` bit for bit.
    """

    step: int
    leaf: str
    contributions: tuple[tuple[int, int], ...]
    before: int | None
    after: int | None
    is_exact: bool | None
    """None where it cannot be told: a hook changed the gradient on its way."""


class Pass(Row, frozen=True, array_like=True, gc=False):
    """One call of backward(): its steps are first..last-1; `duration_s` is wall time, recording included."""

    number: int
    first: int
    last: int
    duration_s: float
    error: PyTorchError | None = None


class HookCall(Row, frozen=True, array_like=True, gc=False):
    """A hook that ran before step `step`, a post accumulate hook at its end; `gave` differs where it changed something.

    Hooks of one leaf are told together: what the first received and what came out of the last.
    """

    step: int
    kind: Literal["tensor hook", "module hook", "post accumulate hook"]
    at: str
    received: int | None
    gave: int | None
    grad_was_none: bool | None
    """Whether the leaf's `.grad` was None at that moment; None for what is no leaf."""

    @property
    def changed(self) -> bool:
        return self.kind != "post accumulate hook" and self.received != self.gave


class Replay(Result, frozen=True, kw_only=True):
    """A recorded backward pass, in the engine's order.

    The gradient on edge e of the graph is `returned[e.output_nr]` of the step of `e.source`. Equal indices into
    `gradients` are one tensor (or one known to hold the same bits).
    """

    graph: Graph
    modules: tuple[ModuleCall, ...] = ()
    steps: tuple[Step, ...]
    gradients: tuple[TensorSummary, ...]
    accumulations: tuple[Accumulation, ...]
    passes: tuple[Pass, ...]
    hook_calls: tuple[HookCall, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    loss: float | None = None
    plain_backward_s: float | None = None
    """The same backward without any hook, on a forward of its own, median of a few; None where it was not run."""
    error: PyTorchError | None = None
    """Of the forward; errors of backward are in `passes`."""
    not_run: tuple[int, ...] = ()
    """Nodes of the graph that no pass reached."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class ReplaySpec(Spec[Replay], frozen=True, kw_only=True):
    """Record `passes` backward passes over one forward of `model`."""

    verb: ClassVar[str] = "replay_backward"
    result: ClassVar[type[Result]] = Replay
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=180)

    model: ModelSpec = ModelSpec()
    roots: Roots = "loss"
    grad_outputs: GradOutputs = "default"
    passes: Annotated[int, Meta(ge=1, le=5, description="backward() calls over one forward")] = 1
    retain_graph: bool = False
    create_graph: bool = False
    new_forward: bool = False
    """Run the forward again before every further pass, as in gradient accumulation over micro-batches."""
    hook: GradientHook = GradientHook()
