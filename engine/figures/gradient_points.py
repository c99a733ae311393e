"""The size of the gradient over depth, module by module and node by node, and what it says in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from engine.figures.arrays import array
from engine.figures.replay_words import Flow, combined
from engine.figures.units import format_count, format_significant
from engine.replay.spec import Replay, Step

FALL = 1000.0
"""Between the two ends, from which on a gradient is said to vanish or to explode."""
MANY_DEAD = 0.5
"""Share of a ReLU's units from which on it is called dead."""
MOST_POINTS = 3000
"""A chart of more draws the ends of every stretch."""
RELUS = ("ReluBackward", "ThresholdBackward")
OUTSIDE = "outside of modules"


class Dead(msgspec.Struct, frozen=True):
    """A ReLU's units, and how many of those that received a gradient passed none on for any example."""

    dead: int
    units: int

    @property
    def words(self) -> str:
        return f"{format_count(self.dead)} of {format_count(self.units)} units dead"


class FlowPoint(msgspec.Struct, frozen=True):
    """One place in forward order: norm and `Flow` of the gradient of its output, and the step that received it.

    `dead` tells of the units of a ReLU there; None where there is none, or its values were not kept.
    """

    place: str
    norm: float
    state: int
    step: int
    dead: Dead | None = None

    @property
    def is_dead(self) -> bool:
        return self.dead is not None and self.dead.dead >= MANY_DEAD * self.dead.units


def module_points(replay: Replay, pass_number: int = 0) -> tuple[FlowPoint, ...]:
    """One point per innermost module that ran: what its last node of the forward received, in forward order."""
    first: dict[str, Step] = {}
    dead: dict[str, Dead | None] = {}
    for step in _ran(replay, pass_number):
        first.setdefault(step.module, step)
        dead[step.module] = dead.get(step.module) or dead_units(replay, step)
    points = (_point(replay, step, module or OUTSIDE, dead[module]) for module, step in first.items())
    return tuple(points)[::-1]


def node_points(replay: Replay, pass_number: int = 0) -> tuple[FlowPoint, ...]:
    """One point per node of the graph that ran, in the reverse of the engine's order."""
    steps = _ran(replay, pass_number)
    return tuple(
        _point(replay, step, f"{step.module}/{step.name}".lstrip("/"), dead_units(replay, step)) for step in steps
    )[::-1]


def thinned(points: Sequence[FlowPoint], most: int = MOST_POINTS) -> tuple[FlowPoint, ...]:
    """At most about `most` points: of every stretch the one of the smallest and the one of the largest norm."""
    if len(points) <= most:
        return tuple(points)
    width = math.ceil(2 * len(points) / most)
    kept: list[FlowPoint] = []
    for first in range(0, len(points), width):
        stretch = range(first, min(first + width, len(points)))
        ends = {min(stretch, key=lambda at: points[at].norm), max(stretch, key=lambda at: points[at].norm)}
        kept += (points[at] for at in sorted(ends))
    return tuple(kept)


def _ran(replay: Replay, pass_number: int) -> list[Step]:
    return [s for s in replay.steps if s.pass_number == pass_number and s.kind == "node" and s.duration_s is not None]


def _point(replay: Replay, step: Step, place: str, dead: Dead | None) -> FlowPoint:
    state, norm = combined(replay, step.received)
    return FlowPoint(place, norm, state, step.number, dead)


def dead_units(replay: Replay, step: Step) -> Dead | None:
    """Of a ReLU whose values were kept, by unit (last dimension); a unit to which nothing came is not counted dead."""
    if not step.name.startswith(RELUS) or not step.received or not step.returned:
        return None
    came, left = (zero_units(replay, gradients[0]) for gradients in (step.received, step.returned))
    if came is None or left is None or came.shape != left.shape:
        return None
    return Dead(int((left & ~came).sum()), int(left.size))


def zero_units(replay: Replay, gradient: int | None) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """By unit (last dimension), whether all of its elements are 0; None where the values are not known, or one row."""
    summary = None if gradient is None else replay.gradients[gradient]
    if summary is None or summary.values is None or len(summary.shape) < 2 or math.prod(summary.shape[:-1]) < 2:
        return None
    zeros: np.ndarray[Any, np.dtype[np.bool_]] = (array(summary.values).reshape(-1, summary.shape[-1]) == 0).all(axis=0)
    return zeros


def findings(points: Sequence[FlowPoint]) -> tuple[str, ...]:
    """What the points say, each sentence with its rule; empty for a gradient that keeps its size."""
    said = [*_ends(points), *_zeros(points)]
    dead = [point for point in points if point.is_dead]
    if dead:
        listed = "; ".join(f"{point.place}: {point.dead.words}" for point in dead[:3] if point.dead)
        more = f"; and {len(dead) - 3} more" if len(dead) > 3 else ""
        said.append(
            f"Dead ReLU: {listed}{more}. Rule: a unit is dead when it passes no gradient on for any example of the "
            f"batch; told from {MANY_DEAD:.0%} of the units."
        )
    return tuple(said)


def _ends(points: Sequence[FlowPoint]) -> list[str]:
    inside = [point for point in points if point.place != OUTSIDE]
    known = [point for point in inside if point.state == Flow.FINITE and point.norm > 0]
    if len(known) < 2:
        return []
    inner, outer = known[0], known[-1]
    factor = outer.norm / inner.norm
    told = f"{format_significant(outer.norm)} at {outer.place}, {format_significant(inner.norm)} at {inner.place}"
    rule = f"Rule: a factor of {FALL:.0f} between the output's end and the input's."
    if factor >= FALL:
        return [f"The gradient vanishes on its way back: {told}, {format_significant(factor)} times less. {rule}"]
    if factor <= 1 / FALL:
        return [f"The gradient explodes on its way back: {told}, {format_significant(1 / factor)} times more. {rule}"]
    return []


def _zeros(points: Sequence[FlowPoint]) -> list[str]:
    said = []
    bad = [point for point in reversed(points) if point.state == Flow.NON_FINITE]
    if bad:
        said.append(f"First not finite at {bad[0].place}, then at {len(bad) - 1} more places on its way back.")
    zero = [point for point in reversed(points) if point.state == Flow.ZERO]
    if zero:
        said.append(f"Exactly 0 from {zero[0].place} on, at {len(zero)} of {len(points)} places.")
    return said
