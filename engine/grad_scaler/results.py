"""What comes back from a run with a GradScaler; torch-free."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result

Event = Literal["", "growth", "backoff"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One pass of the loop, from zero_grad to update.

    `found_inf` is the scaler's own flag, one per optimizer; `checked` its own kernel asked of each parameter's
    gradient alone, and `non_finite` how many entries of it are inf or nan, both just before `unscale_` and in the order
    of `Run.parameters` (None: no gradient). `taken` says of each optimizer whether any bit of its parameters changed.
    Norms are of all gradients together, None where there was nothing to read: scaled after backward, unscaled after
    `unscale_` (or as the optimizer sees them), clipped after `clip_grad_norm_`, applied as `optimizer.step` sees them.
    """

    number: int
    loss: float
    scale_before: float
    scale_after: float
    growth_tracker: int
    event: Event
    found_inf: tuple[float | None, ...]
    checked: tuple[bool | None, ...]
    non_finite: tuple[int | None, ...]
    called: tuple[bool, ...]
    """Of each optimizer, whether its `step` was called at all: not where the scaler skips it."""
    skipped_inside: tuple[bool, ...]
    """Of each optimizer, whether its `step` was called with the scaler's flag set: a fused one then changes nothing."""
    taken: tuple[bool, ...]
    scaled_norm: float | None
    unscaled_norm: float | None
    clipped_norm: float | None
    applied_norm: float | None
    first_weight: float
    """The first element of the first parameter after the step."""

    @property
    def skipped(self) -> bool:
        """Whether the scaler kept any optimizer from its step."""
        kept = (inside or not called for called, inside in zip(self.called, self.skipped_inside, strict=True))
        return any(flag and was for flag, was in zip(self.found_inf, kept, strict=True))


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of one way of writing the loop; `error` is what PyTorch said in step `error_step` to `error_call`."""

    name: str
    parameters: tuple[str, ...]
    owners: tuple[int, ...]
    """Number of the optimizer that owns each parameter."""
    steps: tuple[Step, ...]
    enabled: bool = True
    """What `scaler.is_enabled()` answers."""
    warnings: tuple[str, ...] = ()
    """What PyTorch warned of when the scaler was made."""
    error: PyTorchSaid | None = None
    error_step: int | None = None
    error_call: str = ""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Gradients converted with `.to(dtype)` after multiplication with `scale`; counts of elements.

    `to_zero` were not 0 before, `subnormal` and `normal` are what they became, `overflow` became inf or nan,
    `saturated` lie beyond the largest number and became it.
    """

    dtype: str
    scale: float
    to_zero: int
    subnormal: int
    normal: int
    overflow: int
    saturated: int

    @property
    def lost(self) -> int:
        """Elements whose value is gone."""
        return self.to_zero + self.overflow + self.saturated

    @property
    def counted(self) -> int:
        """Elements that were neither 0 nor non-finite to begin with."""
        return self.lost + self.subnormal + self.normal


class BestScale(msgspec.Struct, frozen=True, kw_only=True):
    """The powers of two between which a format loses least; `exponent` also has the fewest subnormals."""

    dtype: str
    exponent: int
    low: int
    high: int
    lost: int
    swept: tuple[int, ...]
    """Elements lost at each exponent of `Spread.sweep`."""


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """What a format can hold, from torch.finfo; the smallest subnormal is smallest_normal * eps."""

    dtype: str
    largest: float
    smallest_normal: float
    smallest_subnormal: float


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Gradients by power of two: `counts[i]` have 2**exponents[i] <= |g| < 2**(exponents[i] + 1)."""

    source: Literal["parameters", "activations"]
    steps: tuple[int, ...]
    """Before these steps of the run, from 1."""
    elements: int
    zeros: int
    non_finite: int
    exponents: tuple[int, ...]
    counts: tuple[int, ...]
    shares: tuple[Share, ...]
    best: tuple[BestScale, ...]
    sweep: tuple[int, ...]


class Scaled(Result, frozen=True, kw_only=True):
    """The run, the way it is compared with (None where there is none), and its gradients by power of two.

    The gradients of `spreads` are those of float32 without autocast and without scale, at the parameters that the run
    has before the steps they name.
    """

    run: Run
    beside: Run | None
    ranges: tuple[Range, ...]
    spreads: tuple[Spread, ...]
    cuda_enabled: bool
    """Whether `torch.amp.GradScaler("cuda")` is enabled on this machine: not without CUDA."""
