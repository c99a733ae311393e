"""What a comparison on the timing page comes back as, beside its samples: agreement, machine, page faults."""

from __future__ import annotations

from statistics import median
from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result
from engine.timing.comparison import Comparison, Crossover, Series

Verdict = Literal["identical", "equal up to rounding", "different", "not comparable"]
MEBIBYTE = 1 << 20
MOST_PAGES, FEW_PAGES = 0.9, 0.02
"""Shares of an output's pages from and up to which it counts as made of new pages, and of old ones."""


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """How far one result is from another, over all its tensors in double precision.

    `relative` is the largest absolute distance / the largest absolute value of the other, `tolerance` what rounding
    may make of it in the coarsest dtype of operands, mode and results. `reason` says why results cannot be compared,
    or what to know.
    """

    verdict: Verdict
    absolute: float | None = None
    relative: float | None = None
    tolerance: float = 0.0
    reason: str = ""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One variant as it ran: its words, its result, what it moves, and its distance to float64."""

    title: str
    outputs: tuple[tuple[str, tuple[int, ...], str], ...] = ()
    """(name, shape, dtype) of every tensor of its result."""
    output_bytes: int = 0
    """Of the largest tensor of its result."""
    least_bytes: int | None = None
    """Reading every operand once and writing every result once; None for a model."""
    to_reference: Distance | None = None
    total: float | None = None
    """Sum of its first result in double precision, for a script to print as well."""
    refused: PyTorchSaid | None = None
    """What PyTorch raised when it was run; then nothing was timed."""
    unavailable: str = ""
    """Why it could not even be asked for."""
    first_call_s: float | None = None
    """Wall seconds of its very first call, cold, what torch.compile compiles included; in no ratio."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine while the samples were taken; shares are of one processor core, None where not readable."""

    cores: int
    load_average: float | None = None
    """Of the last minute, when the samples began."""
    others_busy: float | None = None
    """Processor seconds of all other processes per second of measuring."""
    busy_processes: int | None = None
    """Other processes that used more than a tenth of a core."""
    steal: float | None = None
    """Seconds per second in which the hypervisor ran someone else."""
    throttled_s: float | None = None
    """Seconds in which the control group held this process back."""
    measured_at_s: float | None = None
    """Seconds since 1970 when it ended, as a result from the cache may be old."""

    @property
    def is_loaded(self) -> bool:
        """Others took more than a quarter of a core, or the hypervisor or control group held the process back."""
        return any((value or 0) > limit for value, limit in self._judged())

    def _judged(self) -> tuple[tuple[float | None, float], ...]:
        return (self.others_busy, 0.25), (self.steal, 0.05), (self.throttled_s, 0.05)


class Timing(Result, frozen=True, kw_only=True):
    """Two variants measured against each other; `comparison` is None where one of them could not run."""

    a: Side
    b: Side
    comparison: Comparison | None
    agreement: Distance
    machine: Machine


class TimingSweep(Result, frozen=True, kw_only=True):
    """Both variants over sizes, with every change of the faster one; crossovers are estimated between sizes."""

    size_is: str
    sizes: tuple[int, ...]
    series: tuple[Series, ...]
    crossovers: tuple[Crossover, ...]
    verdicts: tuple[str, ...]
    """Of every size: the name of the winner, "" where no difference is shown."""
    notes: tuple[str, ...] = ()


class Allocated(msgspec.Struct, frozen=True, kw_only=True):
    """One size: a fresh output of every call against one that is reused."""

    output_bytes: int
    moved_bytes: int
    """Operands read once and the result written once, per call."""
    comparison: Comparison
    """Of "fresh output" and "reused output", with a settled heap."""
    faults_as_found: float = 0.0
    """Of a fresh output per call, median, before the heap was settled: chance, as far as the operator goes."""

    @property
    def fresh_faults(self) -> float:
        """Minor page faults per call, median of the rounds."""
        return median(self.comparison.faults[0])

    @property
    def reused_faults(self) -> float:
        return median(self.comparison.faults[1])

    @property
    def allocator_share(self) -> float:
        """Of the time with a fresh output: what a reused one saves."""
        fresh, reused = self.comparison.median_s
        return 1 - reused / fresh


class Allocations(Result, frozen=True, kw_only=True):
    """The same operation over output sizes; `page_bytes` is what one fault brings, `allocator` what serves malloc."""

    points: tuple[Allocated, ...]
    page_bytes: int
    allocator: str
    machine: Machine
    notes: tuple[str, ...] = ()

    @property
    def cliff(self) -> tuple[int, int] | None:
        """(largest output without faults, smallest with them), where one size divides all; None otherwise."""
        states = [fault_state(point, self.page_bytes) for point in self.points]
        above = states.count("faulted")
        below = len(states) - above
        if not above or not below or states != ["kept"] * below + ["faulted"] * above:
            return None
        return self.points[below - 1].output_bytes, self.points[below].output_bytes


FaultState = Literal["kept", "partly faulted", "faulted"]


def fault_state(point: Allocated, page_bytes: int) -> FaultState:
    """Of a fresh output: nearly all of its pages given anew on a call, next to none, or something between."""
    share = point.fresh_faults * page_bytes / point.output_bytes
    if share >= MOST_PAGES:
        return "faulted"
    return "kept" if share <= FEW_PAGES else "partly faulted"
