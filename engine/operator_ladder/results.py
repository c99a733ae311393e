"""What the operator ladder brings back: times, errors, memory, the machine's limits, verdicts."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result
from engine.timing.comparison import Comparison, Crossover, Series

Outcome = Literal["measured", "skipped", "failed", "not built"]
CheckOutcome = Literal["passed", "failed", "refused", "does not apply"]


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """One way to compute the operator; None where not known, which `reason` explains.

    Errors are the largest distance to the float64 result, in units of eps of the dtype times the largest float64 value.
    `saved_tensors` are packed for backward by the forward (`saved_bytes`: their storages, each once). `peak_bytes` is
    the most the allocator held at once beyond the inputs during one call; `traffic_bytes` what the operations it
    dispatched read and write; `faults` are minor page faults per call.
    """

    name: str
    code: str
    outcome: Outcome
    reason: str = ""
    seconds: float | None = None
    """Median seconds per call."""
    estimated_s: float | None = None
    error_eps: float | None = None
    gradient_error_eps: float | None = None
    saved_tensors: int | None = None
    saved_bytes: int | None = None
    peak_bytes: int | None = None
    traffic_bytes: int | None = None
    faults: float | None = None
    cold_s: float | None = None
    """Wall seconds of the first call of what torch.compile made: tracing and compiling, in no ratio."""


class OperatorLadder(Result, frozen=True, kw_only=True):
    """Every rung, and the comparison of those measured; costs by formula at the sizes asked for.

    `is_compiled` tells whether torch.ops.atlas ran compiled code, `reason` why not. `total` is the sum of the float64
    result, for a script to print as well.
    """

    rungs: tuple[Rung, ...]
    comparison: Comparison | None
    input_shapes: tuple[tuple[int, ...], ...]
    output_bytes: int
    flops: int
    least_bytes: int
    total: float
    is_compiled: bool
    reason: str = ""
    instruction_set: str = ""
    """The best that this processor has."""


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """One measured limit: bytes or operations per call, and every sample in seconds per call."""

    name: str
    kind: Literal["bytes", "flops"]
    per_call: int
    working_set_bytes: int
    samples_s: tuple[float, ...]
    code: str

    @property
    def per_s(self) -> float:
        """From the median sample."""
        ordered = sorted(self.samples_s)
        return self.per_call / ordered[len(ordered) // 2]


class Roofline(Result, frozen=True, kw_only=True):
    """What this machine can move and compute, measured now; bytes of its second and its last level of cache."""

    ceilings: tuple[Ceiling, ...]
    cache_bytes: int
    shared_cache_bytes: int
    threads: int
    notes: tuple[str, ...] = ()

    def bandwidth(self, working_set_bytes: int, fresh_bytes: int = 0) -> Ceiling:
        """The fastest way to move bytes in the smallest working set measured that holds this one, else in memory.

        `fresh_bytes` are what a call allocates: a block too large for the smallest place is in no cache when it is
        first written, so that it comes from memory.
        """
        moving = [one for one in self.ceilings if one.kind == "bytes"]
        places = sorted({one.working_set_bytes for one in moving})
        holding = [place for place in places if working_set_bytes <= place]
        wanted = holding[0] if holding and fresh_bytes <= places[0] else places[-1]
        return max((one for one in moving if one.working_set_bytes == wanted), key=lambda one: one.per_s)

    @property
    def peak(self) -> Ceiling:
        """The most operations per second that were measured."""
        return max((one for one in self.ceilings if one.kind == "flops"), key=lambda one: one.per_s)


class OperatorSweep(Result, frozen=True, kw_only=True):
    """Time of the rungs over sizes; `crossovers` of the two chosen are estimated between measured sizes."""

    sizes: tuple[int, ...]
    series: tuple[Series, ...]
    crossovers: tuple[Crossover, ...]
    notes: tuple[str, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict; `said` are PyTorch's own words where it failed, `worst` the entry that is furthest off."""

    name: str
    asks: str
    outcome: CheckOutcome
    said: PyTorchSaid | None = None
    reason: str = ""
    seconds: float = 0.0


class WorstEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Where backward and central differences are furthest apart, in float64."""

    input: int
    index: tuple[int, ...]
    value: float
    backward: float
    difference_quotient: float


class OperatorChecks(Result, frozen=True, kw_only=True):
    """What torch.library.opcheck, gradcheck and gradgradcheck say of an operator, and its schema as registered."""

    checks: tuple[Check, ...]
    worst: WorstEntry | None
    schema: str
    is_compiled: bool
