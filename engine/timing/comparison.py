"""What a fair comparison of timings comes back as: raw samples, paired ratios with their band, and a verdict."""

from __future__ import annotations

from statistics import median
from typing import Literal

import msgspec

from engine.runner.contract import Result

RESOLUTION = 0.02
"""Ratios closer to 1 than this are not told apart: identical code against itself was off by up to 1.6 %."""


DOUBT = 0.002
"""Chance alone may put as many rounds on one side no more often than this: 14 of 15 must agree, 21 of 25.

The 95 % band by itself leaves 1 out in one of twenty comparisons of identical code, and did so beside busy processes.
"""


class Ratio(msgspec.Struct, frozen=True):
    """time of `name` / time of `baseline`: median of paired ratios over the rounds, with its 95 % band.

    `chance` is how often identical code has as many of its `rounds` on one side of 1 (two-sided sign test).
    """

    name: str
    baseline: str
    ratio: float
    low: float
    high: float
    chance: float = 0.0
    rounds: int = 0

    @property
    def is_by_chance(self) -> bool:
        """Whether `chance` is above DOUBT; of few rounds, unless all of them agree."""
        return self.chance > max(DOUBT, 2.0 ** (1 - self.rounds))

    @property
    def shows_a_difference(self) -> bool:
        """False when the band straddles 1, chance explains it, or it is nearer to 1 than the method can tell."""
        if self.low <= 1.0 <= self.high or self.is_by_chance:
            return False
        return max(self.ratio, 1 / self.ratio) >= 1 + RESOLUTION


class Usage(msgspec.Struct, frozen=True):
    """What the operating system counted over all samples of one name: `getrusage(RUSAGE_SELF)`, every thread."""

    user_s: float = 0.0
    system_s: float = 0.0
    """Processor seconds in the kernel, where a page fault is served."""
    minor_faults: int = 0
    """Pages given to the process without reading a disk: fresh memory, touched for the first time."""
    major_faults: int = 0
    waits: int = 0
    """Times a thread gave the processor up to wait."""
    preemptions: int = 0
    """Times a thread was taken off the processor for another."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) - getattr(other, name) for name in self.__struct_fields__))


class Comparison(Result, frozen=True, kw_only=True):
    """Interleaved rounds of several callables; every sample is seconds per call, one per round, in order of `names`.

    `cpu_s` is thread CPU time, what the ratios are of with one thread on the CPU; with more threads, or work on an
    accelerator, they are of `wall_s`. `ratios` has one entry per name after the first, each against the first.
    `winner` is the fastest name, None when its ratio to any other shows no difference.
    """

    names: tuple[str, ...]
    calls: tuple[int, ...]
    """Calls per sample of each, chosen so that one sample is long enough for the clock."""
    cpu_s: tuple[tuple[float, ...], ...]
    wall_s: tuple[tuple[float, ...], ...]
    threads: int
    ratios: tuple[Ratio, ...]
    winner: str | None
    clock: Literal["thread CPU", "wall"] = "thread CPU"
    """What the ratios are of."""
    first_call_s: tuple[float, ...] = ()
    """Wall seconds of the very first call of each, which no ratio includes."""
    rounds_asked: int = 0
    notes: tuple[str, ...] = ()
    threads_of: tuple[int, ...] = ()
    """Threads of each; () where all have `threads`."""
    warm_up_cpu_s: tuple[tuple[float, ...], ...] = ()
    warm_up_wall_s: tuple[tuple[float, ...], ...] = ()
    """Rounds before the first that counts, which no ratio includes; () where none were asked for."""
    faults: tuple[tuple[float, ...], ...] = ()
    """Minor page faults per call, one per round, of every thread."""
    usage: tuple[Usage, ...] = ()
    """Over all rounds that count; () in a comparison made elsewhere."""

    @property
    def rounds(self) -> int:
        return len(self.wall_s[0])

    @property
    def samples_s(self) -> tuple[tuple[float, ...], ...]:
        """Seconds per call on the clock that the ratios are of."""
        return self.cpu_s if self.clock == "thread CPU" else self.wall_s

    @property
    def median_s(self) -> tuple[float, ...]:
        """Median seconds per call of each name."""
        return tuple(median(samples) for samples in self.samples_s)

    @property
    def warm_up_s(self) -> tuple[tuple[float, ...], ...]:
        """Like `samples_s`, of the rounds to warm up."""
        return self.warm_up_cpu_s if self.clock == "thread CPU" else self.warm_up_wall_s

    def seconds_of(self, name: str) -> float:
        """Median seconds per call."""
        return median(self.samples_s[self.names.index(name)])

    def paired_ratios(self, name: str, baseline: str = "") -> tuple[float, ...]:
        """time of `name` / time of `baseline` (the first name by default), one per round."""
        first = self.samples_s[self.names.index(baseline) if baseline else 0]
        return tuple(a / b for a, b in zip(self.samples_s[self.names.index(name)], first, strict=True))

    @property
    def ratio(self) -> float:
        """Second / first."""
        return self.ratios[0].ratio

    @property
    def ratio_low(self) -> float:
        return self.ratios[0].low

    @property
    def ratio_high(self) -> float:
        return self.ratios[0].high


class Series(msgspec.Struct, frozen=True):
    """One line of a sweep: raw samples in seconds per call at every size measured."""

    name: str
    sizes: tuple[float, ...]
    samples_s: tuple[tuple[float, ...], ...]

    @property
    def median_s(self) -> tuple[float, ...]:
        return tuple(median(samples) for samples in self.samples_s)


class Crossover(msgspec.Struct, frozen=True):
    """Where one series stops being the faster one: `size` is estimated, on log scales between two measured sizes."""

    faster_below: str
    faster_above: str
    size: float
    measured_below: float
    measured_above: float
