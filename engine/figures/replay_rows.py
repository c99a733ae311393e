"""Rows of what was recorded, for tables and CSV: numbers as numbers, None where there is none."""

from __future__ import annotations

import math
from typing import Any

from engine.figures.replay_words import combined, gradient_words, hook_changed, shape_words, step_notes
from engine.replay.spec import Accumulation, Replay, Step
from engine.summary import TensorSummary

Row = dict[str, Any]


def step_rows(replay: Replay) -> list[Row]:
    """One per step in the engine's order; times in s, `step` counts from 1."""
    notes = step_notes(replay)
    return [
        {
            "step": step.number + 1,
            "pass": step.pass_number + 1,
            "kind": step.kind,
            "node": step.name.replace("torch::autograd::", ""),
            "module": step.module,
            "thread": step.thread,
            "begun_s": step.begun_s,
            "took_s": step.duration_s,
            "received": _shapes(replay, step.received),
            "received_norm": _norm(replay, step.received),
            "returned": _shapes(replay, step.returned),
            "returned_norm": _norm(replay, step.returned),
            "not_finite": _not_finite(replay, step),
            "note": notes.get(step.number, ""),
        }
        for step in replay.steps
    ]


def _shapes(replay: Replay, gradients: tuple[int | None, ...]) -> str:
    return " + ".join("None" if at is None else shape_words(replay.gradients[at].shape) for at in gradients)


def _norm(replay: Replay, gradients: tuple[int | None, ...]) -> float | None:
    return combined(replay, gradients)[1] if any(at is not None for at in gradients) else None


def _not_finite(replay: Replay, step: Step) -> int:
    found = (replay.gradients[at] for at in (*step.received, *step.returned) if at is not None)
    return sum(one.non_finite for one in found)


def accumulation_rows(replay: Replay, leaf: str) -> list[Row]:
    """For every pass: `.grad` before, one row per use in the order of arrival, and `.grad` after."""
    rows: list[Row] = []
    for one in (found for found in replay.accumulations if found.leaf == leaf):
        number = replay.steps[one.step].pass_number + 1
        rows.append(_row(number, ".grad before", "", _summary(replay, one.before)))
        for use, (step, output_nr) in enumerate(one.contributions, 1):
            rows.append(_row(number, f"use {use}", *_contribution(replay, step, output_nr)))
        rows.append(_row(number, ".grad after", _sum_words(one), _summary(replay, one.after)))
    return rows


def _contribution(replay: Replay, step: int, output_nr: int) -> tuple[str, TensorSummary | None]:
    if step < 0:
        return "the root's own gradient", None
    made = replay.steps[step]
    words = f"step {step + 1} · {made.name} output {output_nr}" + (f" · {made.module}" if made.module else "")
    return words, _summary(replay, made.returned[output_nr] if output_nr < len(made.returned) else None)


def _sum_words(one: Accumulation) -> str:
    uses = len(one.contributions)
    return f"sum of {uses} uses" + (" and what was there" if one.before is not None else "") if uses > 1 else ""


def _row(number: int, what: str, origin: str, summary: TensorSummary | None) -> Row:
    row: Row = {"pass": number, "what": what, "from": origin}
    row["gradient"] = "None" if summary is None else gradient_words(summary)
    for name in ("norm", "minimum", "maximum", "mean"):
        value = None if summary is None else getattr(summary, name)
        row[name] = None if value is None or math.isnan(value) else value
    return row


def pass_rows(replay: Replay) -> list[Row]:
    """One per backward() call."""
    return [
        {
            "backward() call": one.number + 1,
            "steps": one.last - one.first,
            "recorded_s": one.duration_s,
            "error": one.error.type if one.error else "",
        }
        for one in replay.passes
    ]


def hook_rows(replay: Replay) -> list[Row]:
    """One per hook that ran, in order."""
    return [
        {
            "step": call.step + 1,
            "hook": call.kind,
            "at": call.at or "input",
            "received": gradient_words(_summary(replay, call.received)),
            "gave": gradient_words(_summary(replay, call.gave)) if hook_changed(call) else "unchanged",
            ".grad was": "" if call.grad_was_none is None else "None" if call.grad_was_none else "there",
        }
        for call in replay.hook_calls
    ]


def _summary(replay: Replay, at: int | None) -> TensorSummary | None:
    return None if at is None else replay.gradients[at]
