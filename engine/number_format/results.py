"""What comes back about a number in every format; torch-free."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result

Outcome = Literal["zero", "subnormal", "normal", "saturated", "inf", "nan", "sign lost", "no zero"]
Rounding = Literal[
    "exact", "nearest even", "by way of float64", "by way of float32", "beyond the largest", "other", "not finite"
]  # fmt: skip


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """torch.finfo of a dtype, and what it makes of numbers beyond: `.to(dtype)` of the named values."""

    dtype: str
    largest: float
    smallest_normal: float
    eps: float
    bits: int
    beyond: tuple[tuple[str, float], ...]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A dtype that torch has but cannot convert to, in its own words."""

    dtype: str
    error: PyTorchSaid


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A value in one format, as `torch.tensor(value, dtype=float64).to(dtype)` stores it.

    `bits` are those of the element, hexadecimal. `below` and `above` are the neighbours (None: none, or not finite),
    `spacing` the distance to the one further from 0, `relative_error` against the number as typed. `rounding` says
    which of the exact rules gives these bits: `exact` is the number as typed itself.
    `scaled_back` is `(value * scale).to(dtype) / scale` in float32.
    """

    dtype: str
    value: float
    bits: str
    below: float | None
    above: float | None
    spacing: float | None
    relative_error: float | None
    outcome: Outcome
    rounding: Rounding
    scaled_back: float


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One typed number in every format; `value` is the float64 that torch converts from."""

    text: str
    value: float
    stored: tuple[Stored, ...]


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """An addition in one dtype: the code, what torch gives, None with its words where it refuses."""

    dtype: str
    code: str
    result: float | None
    exact: float
    error: PyTorchSaid | None = None


class Formats(Result, frozen=True, kw_only=True):
    """Every value in every dtype that torch converts to, their limits, and additions that are lost."""

    values: tuple[Value, ...]
    limits: tuple[Limit, ...]
    refused: tuple[Refusal, ...]
    sums: tuple[Sum, ...]


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A sum that grows by one addend at a time: totals at `counts`, and from which addition on it stands still.

    `stops_at` is the first addition that changed nothing (None: every one did), `total` the last value, `torch_sum`
    what `torch.cat([start, addends]).sum()` gives in the same dtype.
    """

    dtype: str
    counts: tuple[int, ...]
    totals: tuple[float, ...]
    total: float
    stops_at: int | None
    addend: float
    torch_sum: float | None
    emulated: bool
    """Added in float32 and converted after every addition, because torch has no addition in this dtype."""
    error: PyTorchSaid | None = None


class RunningSums(Result, frozen=True, kw_only=True):
    """The same running sum in several dtypes, and the exact one of the numbers as typed, inf beyond float64."""

    runs: tuple[Running, ...]
    exact_total: float
