"""The key numbers of the operators page, and which way wins in words."""

from __future__ import annotations

from engine.figures.ladder import rebased
from engine.figures.operator_ladder import speedup_words
from engine.figures.roofline import allowed_s, roof_of
from engine.figures.units import format_time
from engine.operator_ladder.results import OperatorLadder, Roofline, Rung
from engine.operator_ladder.row import ATLAS, OPTIMIZER, PYTORCH
from engine.timing.comparison import Ratio
from pages.shared.key_numbers import KeyNumber

SHARES = {"L2 cache": "% of L2 roof", "last cache": "% cache roof", "memory": "% memory roof", "peak": "% of peak"}
"""Label of the share by what was taken for 100 %: shares of different roofs are no difference to A."""


def headline_atlas(ladder: OperatorLadder) -> Rung | None:
    """The rung to set beside PyTorch: the optimizer class where PyTorch's is timed too, else our fastest."""
    timed = [rung for rung in ladder.rungs if rung.name in (*ATLAS, OPTIMIZER) and rung.seconds]
    whole_steps = [rung for rung in timed if rung.name == OPTIMIZER]
    return min(whole_steps or timed, key=lambda rung: rung.seconds or 0.0, default=None)


def fastest_pytorch(ladder: OperatorLadder) -> Rung | None:
    """The fastest rung that needs PyTorch alone."""
    timed = [rung for rung in ladder.rungs if rung.name in PYTORCH and rung.seconds]
    return min(timed, key=lambda rung: rung.seconds or 0.0, default=None)


def ladder_numbers(ladder: OperatorLadder, roofline: Roofline | None, compared: str) -> tuple[KeyNumber, ...]:
    """The compiled operator's time, its speedups, how near it is to the roofline, its error and its peak."""
    best, pytorch = headline_atlas(ladder), fastest_pytorch(ladder)
    name, other = best.name if best else "nothing compiled was measured", pytorch.name if pytorch else ""
    seconds = best.seconds if best else None
    share = 100 * allowed_s(best, ladder, roofline) / seconds if roofline and seconds else None
    roof = roof_of(best, ladder, roofline) if roofline else ""
    told = f"the median of paired ratios of {name} to"
    return (
        KeyNumber("Time", seconds, "s", f"the median of its samples: {name}"),
        KeyNumber("× best PyTorch", _speedup(ladder, best, other), "", f"{told} the fastest PyTorch way, {other}"),
        KeyNumber(f"× {compared}", _speedup(ladder, best, compared), "", f"{told} {compared}"),
        KeyNumber(SHARES.get(roof, "% of roof"), share, "", f"the time that the roofline ({roof}) allows, / time"),
        KeyNumber("Error, eps", best.error_eps if best else None, "", "`(result - float64 result).abs().max()`"),
        KeyNumber("Peak", best.peak_bytes if best else None, "bytes", "the profiler's memory events of one call"),
    )


def winner_words(ladder: OperatorLadder) -> str:
    """Which is faster, ours or the fastest PyTorch way, with the band; "" where one of them is missing."""
    ours, pytorch = headline_atlas(ladder), fastest_pytorch(ladder)
    if ours is None or pytorch is None or ours.seconds is None or pytorch.seconds is None:
        return ""
    ratio = _ratio(ladder, ours.name, pytorch.name)
    if ratio is None:
        return ""
    times = f"{format_time(ours.seconds)} against {format_time(pytorch.seconds)}"
    if not ratio.shows_a_difference:
        return f"**No winner**: no difference shown between {ours.name} and the fastest PyTorch way, {pytorch.name}."
    winner = ours.name if ratio.ratio < 1 else pytorch.name
    return (
        f"**{winner} wins**: {ours.name} is {speedup_words(ratio)} than the fastest PyTorch way, {pytorch.name}: "
        f"{times}."
    )


def _speedup(ladder: OperatorLadder, best: Rung | None, other: str) -> float | None:
    if best is None:
        return None
    if best.name == other:
        return 1.0
    ratio = _ratio(ladder, best.name, other)
    return None if ratio is None else 1 / ratio.ratio


def _ratio(ladder: OperatorLadder, name: str, other: str) -> Ratio | None:
    """Time of `name` / time of `other`, None where one of them was not measured."""
    if ladder.comparison is None or not {name, other} <= set(ladder.comparison.names):
        return None
    return next((ratio for ratio in rebased(ladder.comparison, other).ratios if ratio.name == name), None)
