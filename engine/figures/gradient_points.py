"""The size of the gradient over depth, module by module and node by node, and what it says in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from engine.figures.replay_words import Flow, combined
from engine.figures.units import format_count, format_significant
from engine.replay.spec import Replay, Step
from engine.summary import TensorSummary

FALL = 1000.0
"""Between the two ends, from which on a gradient is said to vanish or to explode."""
DEAD = 0.9
"""Share of zeros that a ReLU lets through, from which on it is called dead where units cannot be told apart."""
RELUS = ("ReluBackward", "ThresholdBackward", "LeakyReluBackward")


class FlowPoint(msgspec.Struct, frozen=True):
    """One place in forward order: norm and `Flow` of the gradient of its output, and the step that received it.

    `dead` says how many units of a ReLU there pass nothing on, "" where none.
    """

    place: str
    norm: float
    state: int
    step: int
    dead: str = ""


def module_points(replay: Replay, pass_number: int = 0) -> tuple[FlowPoint, ...]:
    """One point per innermost module that ran: what its last node of the forward received, in forward order."""
    first: dict[str, Step] = {}
    dead: dict[str, str] = {}
    for step in _ran(replay, pass_number):
        first.setdefault(step.module, step)
        dead[step.module] = dead.get(step.module) or dead_words(replay, step)
    points = (_point(replay, step, module or "outside of modules", dead[module]) for module, step in first.items())
    return tuple(points)[::-1]


def node_points(replay: Replay, pass_number: int = 0) -> tuple[FlowPoint, ...]:
    """One point per node of the graph that ran, in the reverse of the engine's order."""
    steps = _ran(replay, pass_number)
    return tuple(
        _point(replay, step, f"{step.module}/{step.name}".lstrip("/"), dead_words(replay, step)) for step in steps
    )[::-1]


def _ran(replay: Replay, pass_number: int) -> list[Step]:
    return [s for s in replay.steps if s.pass_number == pass_number and s.kind == "node" and s.duration_s is not None]


def _point(replay: Replay, step: Step, place: str, dead: str) -> FlowPoint:
    state, norm = combined(replay, step.received)
    return FlowPoint(place, norm, state, step.number, dead)


def dead_words(replay: Replay, step: Step) -> str:
    """How many units of a ReLU passed no gradient on for any example; of large ones the share of zeros. "" for none."""
    if not step.name.startswith(RELUS) or not step.returned or step.returned[0] is None:
        return ""
    summary = replay.gradients[step.returned[0]]
    units = unit_zeros(summary)
    if units is None:
        return f"{summary.zero_share:.0%} of its elements are 0" if summary.zero_share >= DEAD else ""
    dead = int(units.sum())
    return f"{format_count(dead)} of {format_count(units.size)} units dead" if dead else ""


def unit_zeros(summary: TensorSummary) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """By unit (last dimension), whether all of its elements are 0; None where the values are not known, or one row."""
    if summary.values is None or len(summary.shape) < 2 or math.prod(summary.shape[:-1]) < 2 or not summary.numel:
        return None
    values = np.frombuffer(summary.values.data, np.dtype(summary.values.dtype).newbyteorder("<"))
    zeros: np.ndarray[tuple[int], np.dtype[np.bool_]] = (values.reshape(-1, summary.shape[-1]) == 0).all(axis=0)
    return zeros


def findings(points: Sequence[FlowPoint]) -> tuple[str, ...]:
    """What the points say, each sentence with its rule; empty for a gradient that keeps its size."""
    said = [*_ends(points), *_zeros(points)]
    dead = [point for point in points if point.dead]
    if dead:
        listed = "; ".join(f"{point.place}: {point.dead}" for point in dead[:3])
        more = f"; and {len(dead) - 3} more" if len(dead) > 3 else ""
        said.append(
            f"Dead ReLU: {listed}{more}. Rule: a unit is dead when it passes no gradient on for any example of the "
            f"batch; of tensors too large to keep, {DEAD:.0%} zeros."
        )
    return tuple(said)


def _ends(points: Sequence[FlowPoint]) -> list[str]:
    known = [point for point in points if point.state == Flow.FINITE and point.norm > 0]
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
