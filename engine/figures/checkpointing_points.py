"""Policies as points: bytes across, what they cost up; which of them nothing else beats on both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import Forecast, Outcome
from engine.checkpointing.standard import titled
from engine.figures.units import shorten
from engine.timing.comparison import Comparison

Across = Literal["held_bytes", "peak_bytes"]
Up = Literal["time", "recomputed_flops", "recomputed_operations"]

ACROSS_WORDS: dict[Across, str] = {"held_bytes": "held for backward", "peak_bytes": "peak of the step"}
UP_WORDS: dict[Up, str] = {
    "time": "time of one step, off = 1",
    "recomputed_flops": "FLOPs run again in backward",
    "recomputed_operations": "operations run again in backward",
}


FEW = 3
"""Groups that are written out in such a label."""
LABEL = 32
"""Letters of a label beside a mark; the whole is in its hover."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One policy in the picture; `low` and `high` are the 95 % band where the cost was measured.

    `estimated`: forecast, nothing was run. `differs`: some gradient is not, bit for bit, that of off.
    `blocks`: of the model, for the name of √n segments.
    """

    policy: Policy
    x_bytes: int
    y: float
    low: float | None = None
    high: float | None = None
    estimated: bool = False
    differs: bool = False
    blocks: int = 0

    @property
    def label(self) -> str:
        return titled(self.policy, self.blocks)


def outcome_points(
    outcomes: Sequence[Outcome], across: Across, up: Up, comparison: Comparison | None = None, blocks: int = 0
) -> tuple[Point, ...]:
    """The policies that ran and whose cost is known."""
    found = []
    for one in outcomes:
        size, cost = getattr(one, across), _cost(one, up, comparison)
        if size is not None and cost is not None:
            y, low, high = cost
            differs = one.gradients_identical is False
            point = Point(policy=one.policy, x_bytes=size, y=y, low=low, high=high, differs=differs, blocks=blocks)
            found.append(point)
    return tuple(found)


def forecast_points(
    forecasts: Sequence[Forecast], across: Across, up: Up, measured: Sequence[Point] = (), blocks: int = 0
) -> tuple[Point, ...]:
    """The forecasts; a time is not forecast, so there each stands at the height of what was measured."""
    heights = {point.policy: point.y for point in measured}
    found = []
    for one in forecasts:
        size = getattr(one, across)
        y = heights.get(one.policy) if up == "time" else getattr(one, up)
        if size is not None and y is not None:
            found.append(Point(policy=one.policy, x_bytes=size, y=float(y), estimated=True, blocks=blocks))
    return tuple(found)


def pareto_front(points: Sequence[Point], up: Up = "time") -> tuple[Point, ...]:
    """Those with the gradients of off for which no other has both fewer bytes and a lower cost, by bytes.

    Moving tensors away costs time only: where the cost is counted in what is run again, such policies are left out.
    """
    rated = [one for one in points if not one.differs and (up == "time" or meaning_of(one) != "moved_away")]
    front: list[Point] = []
    for point in sorted(rated, key=lambda one: (one.x_bytes, one.y)):
        if not front or point.y < front[-1].y:
            front.append(point)
    return tuple(front)


def short_label(policy: Policy, blocks: int = 0) -> str:
    """What stands beside a mark: the label, of several groups or kept operations how many; at most so long."""
    if policy.kind == "groups" and len(policy.groups) > FEW:
        root = "√n = " if titled(policy, blocks) != label_of(policy) else ""
        return f"{root}{len(policy.groups)} groups, {policy.groups[0][0]}-{policy.groups[-1][1] - 1}"
    if policy.kind == "selective" and len(policy.keep) > 1:
        return f"keep {len(policy.keep)} operations"
    return shorten(titled(policy, blocks).replace("_scaled_dot_product_", "").replace("_for_cpu", ""), LABEL)


def meaning_of(point: Point) -> str:
    """The palette's word for a mark."""
    if point.differs:
        return "gradients_differ"
    if point.policy.kind == "off":
        return "saved"
    return "checkpoint" if point.policy.is_checkpoint else "moved_away"


def _cost(outcome: Outcome, up: Up, comparison: Comparison | None) -> tuple[float, float | None, float | None] | None:
    """(value, low, high); None for a time that was not measured."""
    if up != "time":
        return float(getattr(outcome, up)), None, None
    if comparison is None:
        return None
    if outcome.policy == Policy():
        return 1.0, None, None
    ratio = next((one for one in comparison.ratios if one.name == label_of(outcome.policy)), None)
    return None if ratio is None else (ratio.ratio, ratio.low, ratio.high)
