"""What is said of a step of backward and of its gradients: shapes, norms, and what was special about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import IntEnum

from engine.figures.units import format_significant
from engine.replay.spec import Accumulation, HookCall, Replay, Step
from engine.summary import TensorSummary


class Flow(IntEnum):
    """What a gradient is; of several together the largest counts."""

    NOTHING = 0
    """None: an undefined gradient, which the engine takes for zeros."""
    ZERO = 1
    FINITE = 2
    NON_FINITE = 3


NOTHING = (int(Flow.NOTHING), 0.0)


def flow_of(summary: TensorSummary) -> Flow:
    """Zero when all elements are, non-finite when any is."""
    if summary.non_finite:
        return Flow.NON_FINITE
    return Flow.ZERO if summary.zeros >= summary.numel else Flow.FINITE


def combined(replay: Replay, gradients: Iterable[int | None]) -> tuple[int, float]:
    """(`Flow`, 2-norm over the finite elements) of these gradients together; None entries count as nothing."""
    found = [replay.gradients[number] for number in gradients if number is not None]
    if not found:
        return NOTHING
    norms = [one.norm for one in found if math.isfinite(one.norm)]
    return int(max(map(flow_of, found))), math.hypot(*norms)


def shape_words(shape: Sequence[int]) -> str:
    """As Python writes it: (4, 64)."""
    return str(tuple(shape))


def gradient_words(summary: TensorSummary | None) -> str:
    """ "(4, 64) norm 0.31", with what is zero or not finite said; "None" for none."""
    if summary is None:
        return "None"
    state = flow_of(summary)
    shape = shape_words(summary.shape)
    if state is Flow.ZERO:
        return f"{shape} all 0"
    special = f", {summary.non_finite} of {summary.numel} not finite" if state is Flow.NON_FINITE else ""
    return f"{shape} norm {format_significant(summary.norm)}{special}"


def received_words(replay: Replay, step: Step) -> str:
    """What came into a step: "received (4, 64) norm 0.31"; of several the first and how many more."""
    if step.kind == "recompute":
        return ""
    found = [replay.gradients[number] for number in step.received if number is not None]
    if not found:
        return "received no gradient"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"received {gradient_words(found[0])}{more}"


def step_notes(replay: Replay) -> dict[int, str]:
    """By number of the step, what is special about it: accumulation, hooks before it, recomputation, errors."""
    notes: dict[int, list[str]] = {}
    for step in replay.steps:
        if step.kind == "recompute":
            notes.setdefault(step.number, []).append("its forward runs again")
        elif step.duration_s is None:
            notes.setdefault(step.number, []).append("raised an error")
    for one in replay.accumulations:
        notes.setdefault(one.step, []).append(accumulation_words(replay, one))
    for call in replay.hook_calls:
        notes.setdefault(call.step, []).append(hook_words(call))
    return {number: " · ".join(words) for number, words in notes.items()}


def hook_words(call: HookCall) -> str:
    """ "tensor hook changed the gradient first"."""
    if call.kind == "post accumulate hook":
        return "post accumulate hook ran after it"
    return f"{call.kind} {'changed the gradient' if hook_changed(call) else 'ran'} first"


def hook_changed(call: HookCall) -> bool:
    """Whether it gave another gradient than it received."""
    return call.gave is not None and call.gave != call.received


def accumulation_words(replay: Replay, one: Accumulation) -> str:
    """ "added to fc.weight.grad, 3 uses, norm 0.2 → 0.5", and how much of what it became is not finite."""
    uses = f", {len(one.contributions)} uses" if len(one.contributions) > 1 else ""
    norms = [format_significant(replay.gradients[at].norm) for at in (one.before, one.after) if at is not None]
    after = None if one.after is None else replay.gradients[one.after]
    special = f", {after.non_finite} of {after.numel} not finite" if after is not None and after.non_finite else ""
    verb = "became" if one.before is None else "added to"
    return f"{verb} {one.leaf}.grad{uses}" + (f", norm {' → '.join(norms)}" if norms else "") + special
