"""What the check of a custom Function gives back, as plain values."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Array, Result

VerdictKind = Literal[
    "right",
    "nothing checked",
    "not linear in grad_output",
    "not multiplied by grad_output",
    "not decided",
    "input not checked",
    "once differentiable",
    "precision",
    "not finite",
    "backward not finite",
    "kink",
    "non-deterministic",
    "overlapping memory",
    "intended clip",
    "intended surrogate",
    "wrong formula",
    "wrong shape",
    "wrong count",
    "not tracked",
    "refused",
]


class Argument(msgspec.Struct, frozen=True, array_like=True):
    """A slot: what forward was given, what backward returned for it, and where autograd sends that.

    `next_node` is None where `next_functions` has no entry at all, as for a number or a list.
    """

    name: str
    given: str
    returned: str
    next_node: str | None


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A value that ctx keeps: where, what it is, bytes of its storage (0 for no tensor), which argument or output."""

    name: str
    where: Literal["save_for_backward", "attribute of ctx"]
    what: str
    storage_bytes: int
    same_as: str


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the Function and one backward with ones * grad_output.

    `outputs` and `gradients` are values (gradients: one per differentiable input, None where there is none).
    `arrives` is what backward received when only the first output was used.
    """

    grad_fn: str
    nodes: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    returned_count: int | None = None
    next_functions: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    saved_bytes: int = 0
    """Storages behind save_for_backward and attributes of ctx, each counted once."""
    outputs: tuple[Array, ...] = ()
    gradients: tuple[Array | None, ...] = ()
    arrives: tuple[str, ...] = ()
    forward_error: PyTorchSaid | None = None
    backward_error: PyTorchSaid | None = None


class Lifetime(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the output once it is let go, and of a saved input that is written to before backward."""

    freed_at_once: bool | None = None
    freed_by_gc: bool | None = None
    write_error: PyTorchSaid | None = None
    """What backward raised after `x.add_(1)`; None when it ran."""
    gradient_changed: float | None = None
    """How far that write moved the gradient, silently; None where backward did not run."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One output over x, float64 columns: forward, and four derivatives times grad_output, None where there is none.

    `analytic` is what the Function's backward returns, `autograd` the derivative of the formula in plain operations,
    `numeric` a central difference of the Function's forward, `complex_step` Im f(x + ih) / h of the formula.
    """

    output: int
    x: Array
    forward: Array
    analytic: Array | None = None
    autograd: Array | None = None
    numeric: Array | None = None
    complex_step: Array | None = None
    note: str = ""


class JacobianPair(msgspec.Struct, frozen=True, kw_only=True):
    """Both Jacobians of one output by one input: rows are elements of the output, columns of the input (float64).

    Complex tensors count twice: real and imaginary part of an element follow one another.
    """

    output: int
    input: int
    analytical: Array
    numerical: Array
    mismatches: int


class Worst(msgspec.Struct, frozen=True, kw_only=True):
    """The entry furthest outside of its tolerance; where all are inside, the one with the largest difference."""

    output: int
    input: int
    row: int
    column: int
    analytical: float
    numerical: float
    difference: float
    tolerance: float


class Gradcheck(msgspec.Struct, frozen=True, kw_only=True):
    """What torch.autograd.gradcheck said, and the two Jacobians it compares."""

    passed: bool
    error: PyTorchSaid | None = None
    warnings: tuple[str, ...] = ()
    pairs: tuple[JacobianPair, ...] = ()
    worst: Worst | None = None
    mismatches: int = 0
    entries: int = 0


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One test on the way to the verdict: what was asked, what came out, and whether it decided."""

    test: str
    outcome: str
    decided: bool = False


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Why gradcheck said what it said."""

    kind: VerdictKind
    sentence: str
    remedy: str
    steps: tuple[Step, ...] = ()


class OrderCheck(msgspec.Struct, frozen=True, kw_only=True):
    """gradcheck of one order of derivative: order 1 gradcheck, order n gradgradcheck of the derivative before it.

    `off_formula` is the largest distance of this derivative from that of the forward formula in plain operations.
    """

    order: int
    passed: bool
    words: str
    error: PyTorchSaid | None = None
    off_formula: float | None = None


class CheckedFunction(Result, frozen=True, kw_only=True):
    """Everything about one custom Function at the asked inputs."""

    inputs: tuple[Array, ...]
    input_names: tuple[str, ...]
    call: Call
    lifetime: Lifetime
    curves: tuple[Curve, ...]
    check: Gradcheck
    verdict: Verdict
    orders: tuple[OrderCheck, ...] = ()

    @property
    def first_failing_order(self) -> int | None:
        return next((one.order for one in self.orders if not one.passed), None)
