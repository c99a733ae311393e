"""What a fair comparison of timings comes back as: raw samples, paired ratios with their band, and a verdict."""

from __future__ import annotations

import msgspec

from engine.runner.contract import Result


class Ratio(msgspec.Struct, frozen=True):
    """time of `name` / time of `baseline`: median of paired ratios over the rounds, with its 95 % band."""

    name: str
    baseline: str
    ratio: float
    low: float
    high: float

    @property
    def shows_a_difference(self) -> bool:
        """False when the band straddles 1."""
        return not self.low <= 1.0 <= self.high


class Comparison(Result, frozen=True, kw_only=True):
    """Interleaved rounds of several callables; every sample is seconds per call, one per round, in order of `names`.

    `cpu_s` is thread CPU time, what the ratios are of with one thread; with more threads they are of `wall_s`.
    `ratios` has one entry per name after the first, each against the first. `winner` is the fastest name, None when
    the band of its ratio to any other straddles 1.
    """

    names: tuple[str, ...]
    calls: tuple[int, ...]
    """Calls per sample of each, chosen so that one sample is long enough for the clock."""
    cpu_s: tuple[tuple[float, ...], ...]
    wall_s: tuple[tuple[float, ...], ...]
    threads: int
    ratios: tuple[Ratio, ...]
    winner: str | None

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
