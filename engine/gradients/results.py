"""What comes back of gradients: rows by leaf, distances between two runs, checked entries, steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result
from engine.summary import TensorSummary

LeafKind = Literal["parameter", "input", "intermediate"]
Chosen = Literal["largest", "smallest", "random"]
Verdict = Literal["agrees", "bends", "differs", "not finite"]


class GradientRow(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf with its value and its gradient, or why it has none (`why` and `explanation` as engine.graph gives them).

    `aliases` are other names of the same tensor; `stored` counts entries of a sparse gradient as backward left it.
    """

    name: str
    kind: LeafKind
    aliases: tuple[str, ...]
    requires_grad: bool
    uses: int
    value: TensorSummary
    gradient: TensorSummary | None
    why: str
    explanation: str
    stored: int | None = None
    is_coalesced: bool = True

    @property
    def ratio(self) -> float | None:
        """2-norm of the gradient over that of the value, by finite elements; None without either."""
        if self.gradient is None or not self.value.norm > 0:
            return None
        return self.gradient.norm / self.value.norm


class Gradients(Result, frozen=True, kw_only=True):
    """Every leaf in forward order; `total_norm` is over the `trained` ones, in float64; nan where one is not finite."""

    rows: tuple[GradientRow, ...]
    loss: float | None
    total_norm: float | None
    error: PyTorchSaid | None = None
    stage: Literal["", "forward", "loss", "backward", "optimizer step"] = ""
    warnings: tuple[str, ...] = ()

    def row(self, name: str) -> GradientRow | None:
        return next((row for row in self.rows if row.name == name), None)


def trained(rows: Sequence[GradientRow]) -> tuple[GradientRow, ...]:
    """What an optimizer would be given: the parameters, or the inputs of a model without any."""
    return tuple(row for row in rows if row.kind == "parameter") or tuple(row for row in rows if row.kind == "input")


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """How gradient b differs from a, worked out in float64 over all elements; nan where one is not finite.

    `cosine` is None where a norm is 0, `relative` is |b - a| / |a| (0 where both are 0, inf where only a is).
    `identical` means the same dtype and the same bits. `missing` says why there is nothing to compare.
    """

    name: str
    shape: tuple[int, ...] = ()
    dtype_a: str = ""
    dtype_b: str = ""
    norm_a: float = math.nan
    norm_b: float = math.nan
    cosine: float | None = None
    relative: float = math.nan
    max_abs: float = math.nan
    identical: bool = False
    difference: TensorSummary | None = None
    missing: str = ""


class Differences(Result, frozen=True, kw_only=True):
    """Two runs' gradients by leaf, and of all leaves that both have as one long vector."""

    rows: tuple[Distance, ...]
    whole: Distance
    loss_a: float | None
    loss_b: float | None
    error_a: PyTorchSaid | None = None
    error_b: PyTorchSaid | None = None


class CheckedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One element of one leaf: its gradient against central differences with step `eps`.

    `gradient` is what backward gave in the model's own dtype, `exact` in float64; `numeric` comes from float64 losses,
    `own_numeric` from losses in the model's own dtype. `part` tells which half of a complex element was moved.
    `one_sided` is the difference of the two one-sided quotients: it goes to 0 with eps unless there is a kink.
    """

    name: str
    index: tuple[int, ...]
    chosen: Chosen
    part: Literal["", "real", "imag"]
    gradient: float
    exact: float
    numeric: float
    own_numeric: float
    one_sided: float
    verdict: Verdict

    @property
    def error(self) -> float:
        """|exact - numeric|."""
        return abs(self.exact - self.numeric)


class Checked(Result, frozen=True, kw_only=True):
    """Entries checked, how many there was no time for, and the roundoff that float64 alone puts on a quotient."""

    entries: tuple[CheckedEntry, ...]
    unchecked: int
    forwards: int
    loss: float | None
    eps: float
    tolerance: float
    """Absolute part of what counts as agreement: roundoff of the quotient, estimated."""
    notes: tuple[str, ...] = ()
    error: PyTorchSaid | None = None


class Accumulated(Result, frozen=True, kw_only=True):
    """One large batch against micro-batches, with three ways to scale the loss of each; rows by way, then leaf."""

    sizes: tuple[int, ...]
    ways: tuple[str, ...]
    rows: tuple[tuple[Distance, ...], ...]
    whole: tuple[Distance, ...]
    reduction: Literal["sum", "mean"]
    right_way: str
    notes: tuple[str, ...] = ()
    error: PyTorchSaid | None = None


class ClippedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Norms of one gradient before and after; `cosine_value` tells how clipping by value turned it."""

    name: str
    norm: float
    norm_after_norm: float | None
    norm_after_value: float | None
    cosine_norm: float | None
    cosine_value: float | None
    clipped_share: float
    """Of elements whose magnitude exceeded clip_value."""
    before: TensorSummary
    after_norm: TensorSummary | None
    after_value: TensorSummary | None


class Clipped(Result, frozen=True, kw_only=True):
    """clip_grad_norm_ and clip_grad_value_ on copies of the same gradients; the returned norm is before clipping."""

    rows: tuple[ClippedRow, ...]
    total_norm: float | None
    total_after_norm: float | None
    total_after_value: float | None
    coefficient: float | None
    """What every gradient was multiplied by: min(1, max_norm / (total_norm + 1e-6))."""
    cosine_norm: float | None
    cosine_value: float | None
    foreach_difference: float | None
    """Largest |difference| between foreach=True and foreach=False."""
    norm_error: PyTorchSaid | None = None
    value_error: PyTorchSaid | None = None
    error: PyTorchSaid | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf after zero_grad, and what the optimizer's next step did to it."""

    name: str
    grad: Literal["None", "zeros", "values"]
    grad_norm: float
    moved: float
    """2-norm of the change of the parameter."""
    steps_counted: int | None
    """`state["step"]` of the optimizer after it; None where it keeps none."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to clear gradients between two steps: rows by leaf, bytes of .grad that stay allocated."""

    name: Literal["set_to_none=True", "set_to_none=False", "not called"]
    rows: tuple[Step, ...]
    grad_bytes: int
    moved: float
    error: PyTorchSaid | None = None


class Stepped(Result, frozen=True, kw_only=True):
    """The same model stepped once, cleared in three ways, and stepped again."""

    ways: tuple[Way, ...]
    first_moved: float | None
    error: PyTorchSaid | None = None
