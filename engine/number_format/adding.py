"""Additions whose result is the larger operand: 1 + eps / 2, 2048 + 1, and sums that stop growing."""

from __future__ import annotations

import math
from fractions import Fraction

import torch

from engine.number_format.formats import Format
from engine.number_format.results import Running, RunningSums, Sum
from engine.number_format.spec import SUMMED, RunningSumSpec
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink

POINTS = 120
"""Totals that are kept of a running sum."""


def lost_sums(layout: Format) -> tuple[Sum, ...]:
    """1 + eps, 1 + eps / 2, and the first whole number that 1 cannot be added to, in that dtype."""
    eps, whole = layout.eps, Fraction(2 ** (layout.mantissa_bits + 1))
    cases = ((Fraction(1), eps, "1 + eps"), (Fraction(1), eps / 2, "1 + eps / 2"), (whole, Fraction(1), f"{whole} + 1"))
    return tuple(_sum(layout.name, code, left, right) for left, right, code in cases)


def _sum(name: str, code: str, left: Fraction, right: Fraction) -> Sum:
    dtype: torch.dtype = getattr(torch, name)
    first, second = (torch.tensor(float(one), dtype=torch.float64).to(dtype) for one in (left, right))
    result, error = attempt(lambda: float((first + second).double()))
    return Sum(dtype=name, code=code, result=result, exact=float(left + right), error=error)


def add_repeatedly(spec: RunningSumSpec, progress: ProgressSink) -> RunningSums:
    """The running sum in each dtype, one addition at a time, and the exact total."""
    start, addend = spec.numbers
    runs = []
    for place, name in enumerate(SUMMED):
        progress(f"adding in {name}", place / len(SUMMED))
        runs.append(_run(name, start.value, addend.value, spec.count))
    exact = (start.exact or Fraction(0)) + spec.count * (addend.exact or Fraction(0))
    return RunningSums(runs=tuple(runs), exact_total=as_float(exact))


def as_float(exact: Fraction) -> float:
    """The nearest float64; inf with its sign beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _run(name: str, start: float, addend: float, count: int) -> Running:
    dtype: torch.dtype = getattr(torch, name)
    first, second = (torch.tensor(one, dtype=torch.float64).to(dtype) for one in (start, addend))
    _, error = attempt(lambda: first + second)
    wide = torch.float32 if error is not None else dtype
    total, step, stops_at = first.to(wide), second.to(wide), None
    shown = set(kept_counts(count))
    counts, totals = [0], [float(total)]
    for number in range(1, count + 1):
        following = (total + step).to(dtype).to(wide) if error is not None else total + step
        if bool(following == total):  # the same addition gives the same from here on
            stops_at = number
            break
        total = following
        if number in shown:
            counts.append(number)
            totals.append(float(total))
    rest = [number for number in sorted(shown) if number > counts[-1]]
    counts, totals = counts + rest, totals + [float(total)] * len(rest)
    summed, _ = attempt(lambda: float(torch.cat([first.reshape(1), second.repeat(count)]).sum().double()))
    return Running(
        dtype=name,
        counts=tuple(counts),
        totals=tuple(totals),
        total=float(total),
        stops_at=stops_at,
        addend=float(second.double()),
        torch_sum=summed,
        emulated=error is not None,
        error=error,
    )


def kept_counts(count: int) -> tuple[int, ...]:
    """The additions after which a total is kept: evenly spread, the last included."""
    return tuple(dict.fromkeys(max(1, round(count * place / POINTS)) for place in range(1, POINTS + 1)))
