"""Higher derivatives in words: what an eigenvalue says of gradient descent, and whether the methods agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.figures.units import format_significant
from engine.higher_order.results import Curvature, Growth, Order

ROUNDING = {"float64": 1e-9, "float32": 1e-4}
"""Eigenvalues nearer to 0 than this share of the largest are rounding."""
CLOSE = {"float64": 1e-6, "float32": 1e-3}
"""Two exact methods agree within this, relative to the larger of 1 and their values."""
CLOSE_DIFFERENCES = 1e-3
"""Central differences, which are estimated, agree within this."""


def eigenvalue_words(found: Curvature, dtype: str) -> str:
    """Where power iteration ended, and which steps of gradient descent stay bounded; "" without a product."""
    value = found.eigenvalue
    if value is None:
        return ""
    if value == 0:
        return "Hv is exactly 0: this function is flat to second order along v."
    if _is_balanced(found, dtype):
        low, high = (f"**{format_significant(one, 5)}**" for one in (found.exact[-1], found.exact[0]))
        return (
            f"The two largest, {low} and {high}, are of equal size and opposite sign: power iteration turns from one "
            f"to the other and never converges. {descent_words(found, dtype)}"
        )
    words = "converged" if found.converged else f"not converged yet{_why_slow(found)}"
    return f"Largest in magnitude: **{format_significant(value, 5)}**, {words}. {descent_words(found, dtype)}"


def descent_words(found: Curvature, dtype: str) -> str:
    """What gradient descent does on the quadratic part: bounded below a step, at none, or only along v."""
    value, least = found.eigenvalue or 0.0, min(found.exact, default=None)
    flat = ROUNDING[dtype] * abs(found.largest or value)
    if least is not None and least < -flat:
        return (
            f"No step of gradient descent is stable: the smallest eigenvalue is **{format_significant(least)}**, and "
            f"along its direction every step leads further away."
        )
    if least is not None:
        step = format_significant(2 / max(found.exact))
        return (
            f"No eigenvalue is negative, so gradient descent on this quadratic part is stable below a step of "
            f"**{step}**."
        )
    if value < 0:
        return "No step of gradient descent is stable: along this direction every step leads further away."
    return (
        f"Along this direction gradient descent is stable below a step of **{format_significant(2 / value)}**; whether "
        f"another eigenvalue is negative, which no step would bear, is not known here."
    )


def _is_balanced(found: Curvature, dtype: str) -> bool:
    if found.converged or len(found.exact) < 2:
        return False
    low, high = found.exact[0], found.exact[-1]
    return low < 0 < high and abs(low + high) <= ROUNDING[dtype] * high


def _why_slow(found: Curvature) -> str:
    if found.expected_rate is None:
        return ": whether the two largest are close is not known here"
    largest, second = sorted(found.exact, key=abs, reverse=True)[:2]
    sign = "" if largest * second > 0 else " and of opposite sign"
    return f": the second largest, {format_significant(second, 5)}, is {found.expected_rate:.1%} of its size{sign}"


def agreement_words(one: Order, dtype: str) -> str:
    """Which of autograd, the second method and differences (estimated) agree at x; "" where there is no value."""
    if one.outcome != "value" or one.value is None:
        return ""
    if one.closed_form_text and one.closed_form is None:
        return "no derivative here"
    second = "by hand" if one.closed_form_text else "jvp"
    apart = _is_apart(one.value, one.reference, CLOSE[dtype])
    by_differences = one.finite_difference
    if apart is None:
        return "no second method"
    estimated = None if by_differences is None else _is_apart(one.value, by_differences, CLOSE_DIFFERENCES)
    if not apart:
        return "differences disagree" if estimated else "agree"
    if estimated is False:
        return f"{second} disagrees"
    if by_differences is not None and _is_apart(one.reference or 0.0, by_differences, CLOSE_DIFFERENCES) is False:
        return "autograd disagrees"
    return "none agree" if by_differences is not None else f"autograd and {second} disagree"


def is_in_doubt(one: Order, dtype: str) -> bool:
    """Whether two methods give different derivatives at x."""
    return "agree" in (words := agreement_words(one, dtype)) and words != "agree"


def doubt_words(one: Order, title: str, dtype: str) -> str:
    """The sentence for an order whose methods do not agree; "" where they do."""
    if not is_in_doubt(one, dtype):
        return ""
    second = "by hand" if one.closed_form_text else "nested jvp"
    values = [("autograd", one.value), (second, one.reference), ("differences (estimated)", one.finite_difference)]
    told = ", ".join(f"{name} {format_significant(value, 5)}" for name, value in values if value is not None)
    return f"{title} at x: {_VERDICTS.get(agreement_words(one, dtype), 'two methods disagree')}. {told}."


_VERDICTS = {
    "none agree": "no two methods agree, so none of these numbers can be trusted; a formula that divides by powers of "
    "x breaks down near its removable 0 / 0",
    "autograd disagrees": "autograd alone disagrees with two other methods",
    "jvp disagrees": "forward mode alone disagrees; autograd and differences agree",
    "by hand disagrees": "the formula by hand alone disagrees; autograd and differences agree",
    "differences disagree": "differences disagree: x is near a kink or a jump, or rounding spoils them",
}


def _is_apart(value: float, other: float | None, share: float) -> bool | None:
    """Whether two numbers differ by more than `share`; None without a second one. NaN differs from all but NaN."""
    if other is None:
        return None
    if not (math.isfinite(value) and math.isfinite(other)):
        return not (value == other or (math.isnan(value) and math.isnan(other)))
    return abs(value - other) > share * max(1.0, abs(value), abs(other))


def powers(growth: Growth) -> tuple[float, float] | None:
    """The power of n in the time by two readings, least first: over all sizes, and of the two largest alone."""
    if growth.seconds_exponent is None or len(growth.sizes) < 2:
        return None
    last = _slope(growth.sizes[-2:], growth.seconds[-2:])
    return min(growth.seconds_exponent, last), max(growth.seconds_exponent, last)


def _slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    return math.log(values[1] / values[0]) / math.log(sizes[1] / sizes[0])
