"""What a diagnosis comes back as: states with their traces, origins of non-finite values, findings; without torch."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.graph.rows import Source
from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Array, Result
from engine.summary import TensorSummary
from engine.timing.comparison import Comparison

Kind = Literal["parameter", "input", "leaf", "intermediate", "loss"]
State = Literal["gradient", "zero", "none", "non_finite", "not_asked", "passes"]
"""`not_asked`: requires no gradient; `passes`: a gradient passed through a non-leaf, whose .grad keeps nothing."""
STATES: tuple[State, ...] = ("gradient", "passes", "zero", "none", "non_finite", "not_asked")
Phase = Literal["given", "forward", "backward"]
PHASES: dict[Phase, str] = {"given": "before the forward", "forward": "in the forward", "backward": "in backward"}


class Amount(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A tensor in five numbers: 2-norm (nan and inf pass through), elements, zeros, NaNs, infinities."""

    norm: float
    numel: int
    zeros: int
    nans: int
    infinities: int

    @property
    def non_finite(self) -> int:
        return self.nans + self.infinities


class Step(msgspec.Struct, frozen=True):
    """One question of a trace with its recorded answer; `decides` ends it."""

    question: str
    answer: str
    evidence: str = ""
    decides: bool = False
    source: Source | None = None


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf or named tensor after backward: its state, and the questions that lead to it."""

    name: str
    kind: Kind
    module: str
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    state: State
    verdict: str
    steps: tuple[Step, ...]
    value: Amount | None = None
    grad: Amount | None = None
    """What .grad holds."""
    passed: Amount | None = None
    """Gradient that arrived at it in backward, whether .grad kept it or not."""
    stands_for_a_leaf: bool = False
    """It is no leaf, its .grad is None, and no leaf it was made from has a name: it was meant to be one."""


class ModuleState(msgspec.Struct, frozen=True, kw_only=True):
    """A module in the order of its first call (never called: at the end)."""

    path: str
    type: str
    calls: int
    training: bool
    parameters: int


class Operand(msgspec.Struct, frozen=True):
    """An argument of the operation: a tensor's summary, or a Python value as text."""

    name: str
    summary: TensorSummary | None
    text: str = ""


class Element(msgspec.Struct, frozen=True):
    """One offending element: where, what came out, and what stood at the same place in each operand (by name)."""

    index: tuple[int, ...]
    result: float
    operands: tuple[tuple[str, float], ...]
    arithmetic: str = ""


class Birth(msgspec.Struct, frozen=True, kw_only=True):
    """A place where finite values became non-finite, or NaN arose of infinities, in the order of running.

    `operation` is the aten operator, `called` what the program called; in backward `node` is the autograd node.
    `reached` names what it spread to: "loss", gradients of leaves; () when it was masked on the way.
    """

    phase: Phase
    operation: str
    called: str
    node: str
    module: str
    source: Source | None
    nans: int
    infinities: int
    numel: int
    result: TensorSummary
    operands: tuple[Operand, ...]
    elements: tuple[Element, ...]
    on_purpose: bool
    """A constant that is not finite, as -inf in a mask."""
    explanation: str
    reached: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """One line of the consistency scan: which tensor or module, what is odd, and whether that is an error."""

    subject: str
    check: str
    severity: Literal["error", "warning", "notice"]
    words: str


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """An activation over the batch: how often each unit (last dimension; channel of images) is on.

    `dead`: output is 0 for every sample; `saturated`: at the flat end for every sample; `without_gradient`: the
    gradient behind it is exactly 0 for every sample (None when backward did not come here).
    """

    module: str
    operation: str
    source: Source | None
    units: int
    samples: int
    dead: int
    saturated: int
    without_gradient: int | None
    active_share: Array
    """Per unit, float64: share of samples with an output that is not 0 (up to 4096 units)."""


class Hook(msgspec.Struct, frozen=True):
    """One hook: on what, of which kind, its function, its file and line, and how often it ran (None: unknown)."""

    where: str
    kind: str
    function: str
    origin: str
    calls: int | None = None


class Noted(msgspec.Struct, frozen=True):
    """A value that the program itself wrote down."""

    name: str
    value: str


class Diagnosis(Result, frozen=True, kw_only=True):
    """Everything read from one watched forward and backward."""

    loss: float | None
    injected: str
    watched: tuple[Watched, ...]
    modules: tuple[ModuleState, ...]
    births: tuple[Birth, ...]
    more_births: int
    origin: int | None
    """Index of the first birth that spread to the loss or a gradient."""
    anomaly: PyTorchSaid | None
    """What torch.autograd.detect_anomaly says of the same step; asked only where something is not finite."""
    findings: tuple[Finding, ...]
    units: tuple[Units, ...]
    hooks: tuple[Hook, ...]
    unused: tuple[str, ...]
    """Parameters that require a gradient and that no path from the loss reaches."""
    nodes: int
    noted: tuple[Noted, ...] = ()
    error: PyTorchSaid | None = None
    error_stage: Literal["", "forward", "backward"] = ""
    warnings: tuple[str, ...] = ()
    grad_of_non_leaf: str = ""
    """PyTorch's warning when .grad of a tensor that is no leaf is read."""


class DetectorCost(Result, frozen=True, kw_only=True):
    """Interleaved rounds of one training step without gradients kept between them."""

    comparison: Comparison | None
    nodes: int
    operations: int
    error: PyTorchSaid | None = None
