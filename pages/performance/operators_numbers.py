"""The key numbers of the operators page."""

from __future__ import annotations

from engine.figures.ladder import rebased
from engine.figures.roofline import allowed_s, is_compute_bound
from engine.operator_ladder.results import OperatorLadder, Roofline, Rung
from engine.operator_ladder.row import ATLAS
from pages.shared.key_numbers import KeyNumber


def fastest_atlas(ladder: OperatorLadder) -> Rung | None:
    """The compiled operator's fastest rung that was measured."""
    timed = [rung for rung in ladder.rungs if rung.name in ATLAS and rung.seconds]
    return min(timed, key=lambda rung: rung.seconds or 0.0, default=None)


def ladder_numbers(ladder: OperatorLadder, roofline: Roofline | None, baseline: str) -> tuple[KeyNumber, ...]:
    """The compiled operator's time, its speedup, how near it is to the roofline, its peak and its error."""
    best = fastest_atlas(ladder)
    name = best.name if best else "nothing compiled was measured"
    seconds = best.seconds if best else None
    share = 100 * allowed_s(best, ladder, roofline) / seconds if roofline and seconds else None
    return (
        KeyNumber("Time", seconds, "s", f"the median of its samples: {name}"),
        KeyNumber("Speedup ×", _speedup(ladder, best, baseline), "", f"the median of paired ratios to {baseline}"),
        _rate(best, ladder, roofline),
        KeyNumber("% of roof", share, "", "the time the roofline measured here allows / time"),
        KeyNumber("Peak", best.peak_bytes if best else None, "bytes", "the profiler's memory events of one call"),
        KeyNumber("Error, eps", best.error_eps if best else None, "", "`(result - float64 result).abs().max()`"),
    )


def _rate(best: Rung | None, ladder: OperatorLadder, roofline: Roofline | None) -> KeyNumber:
    """Bytes per second left of the roofline's ridge, operations per second right of it."""
    seconds = best.seconds if best else None
    moved = (best.traffic_bytes if best else None) or ladder.least_bytes
    is_compute = roofline is not None and is_compute_bound(moved, ladder, roofline)
    if is_compute:
        return KeyNumber("GFLOP/s", ladder.flops / seconds / 1e9 if seconds else None, "", "operations / time")
    return KeyNumber("GB/s", moved / seconds / 1e9 if seconds else None, "", "bytes its operations move / time")


def _speedup(ladder: OperatorLadder, best: Rung | None, baseline: str) -> float | None:
    if best is None or ladder.comparison is None or baseline not in ladder.comparison.names:
        return None
    if best.name == baseline:
        return 1.0
    ratios = {ratio.name: ratio.ratio for ratio in rebased(ladder.comparison, baseline).ratios}
    return 1 / ratios[best.name]
