"""What a run with a GradScaler comes to, in sentences and in the rows of its tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.figures.grad_scaler_timeline import scale_words, short_scale
from engine.figures.units import format_count, format_significant
from engine.grad_scaler.results import Run, Scaled, Share, Spread, Step

STEP_COLUMNS = (
    "step", "loss", "scale before", "scale after", "growth tracker", "event", "found_inf", "skipped", "parameters",
    "norm scaled", "norm unscaled", "norm clipped", "norm applied", "first weight",
)  # fmt: skip
SHARE_COLUMNS = ("dtype", "scale", "lost", "rounds to 0", "subnormal", "normal", "overflow", "saturates")


ZERO = (
    " With a scale of 0 every scaled gradient is 0 and passes the check; unscaled it is 0 / 0 = nan, and the next step "
    "writes it into the parameters."
)


def headline(found: Scaled, scale: float) -> str:
    """Steps skipped and how the scale moved, then what float16 would lose without and with init_scale."""
    run = found.run
    if not run.steps:
        return f"No step was finished: PyTorch refuses {run.error_call} in step {run.error_step}."
    parts = [
        _steps_and_scale(run)
        if run.enabled
        else f"The scaler is **not enabled**: none of {len(run.steps)} steps is checked."
    ]
    if spread := spread_named(found, "parameters"):
        parts.append(_rounded(share(spread, "float16", 1.0), share(spread, "float16", scale)))
    return " ".join(part for part in parts if part)


def _steps_and_scale(run: Run) -> str:
    """Steps skipped, and where the scale went."""
    skipped = [step.number for step in run.steps if step.skipped]
    growths, backoffs = (sum(step.event == event for step in run.steps) for event in ("growth", "backoff"))
    first, last = run.steps[0].scale_before, run.steps[-1].scale_after
    words = f"**{_numbered(skipped)}** of {len(run.steps)} skipped. "
    events = f"({growths} × growth, {backoffs} × backoff)."
    if first == last:
        return (
            words
            + f"The scale is **{scale_words(last)}**, as at the start"
            + (f" {events}" if growths or backoffs else ": it did not move.")
        )
    words += f"The scale moved from {scale_words(first)} to **{scale_words(last)}** {events}"
    return words + (
        " With a scale of 0 every gradient is 0 and unscaled nan: no step is taken again." if not last else ""
    )


def _rounded(without: Share, scaled: Share) -> str:
    """How many gradients float16 loses, of how many."""
    if not without.counted:
        return ""
    second = "" if scaled.scale == without.scale else f", and {_of(scaled)} with {short_scale(scaled.scale)}"
    return f"Of {_counted(without.counted)}, float16 rounds {_of(without)} to 0 without a scale{second}."


def _counted(elements: int) -> str:
    return "one parameter gradient" if elements == 1 else f"{format_count(elements)} parameter gradients"


def _numbered(skipped: Sequence[int]) -> str:
    if not skipped:
        return "No step"
    if len(skipped) == 1:
        return f"Step {skipped[0]}"
    if len(skipped) <= 6:
        return f"Steps {', '.join(map(str, skipped[:-1]))} and {skipped[-1]}"
    return f"{len(skipped)} steps"


def _of(share: Share) -> str:
    part, whole = share.to_zero, share.counted
    return "none" if not part else format_count(part) if part < whole else "it" if whole == 1 else "all"


def spread_named(found: Scaled, source: str) -> Spread | None:
    """The gradients of that source; None where there are none, as of activations of a single weight."""
    return next((one for one in found.spreads if one.source == source), None)


def share(spread: Spread, dtype: str, scale: float) -> Share:
    """What that format makes of the gradients at one of the scales that were counted."""
    return next(one for one in spread.shares if one.dtype == dtype and one.scale == scale)


def step_rows(run: Run) -> list[tuple[object, ...]]:
    """One row per step, in the order of STEP_COLUMNS."""
    return [
        (
            step.number, step.loss, step.scale_before, step.scale_after, step.growth_tracker, step.event or "–",
            flags(step), "skipped" if step.skipped else "", moved(step),
            step.scaled_norm, step.unscaled_norm, step.clipped_norm, step.applied_norm, step.first_weight,
        )
        for step in run.steps
    ]  # fmt: skip


def flags(step: Step) -> str:
    """The scaler's flag, one per optimizer."""
    return ", ".join("–" if flag is None else f"{flag:g}" for flag in step.found_inf)


def moved(step: Step) -> str:
    """Whether a bit of the parameters changed, one word per optimizer."""
    return ", ".join("changed" if taken else "same bits" for taken in step.taken)


def found_inf_rows(run: Run) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(columns, rows): per parameter and step how many entries of its gradient are inf or nan, blank for none."""
    columns = ("parameter", "optimizer", *(str(step.number) for step in run.steps))
    rows = [
        (name, str(owner + 1), *(_cell(step, place) for step in run.steps))
        for place, (name, owner) in enumerate(zip(run.parameters, run.owners, strict=True))
    ]
    return columns, rows


def _cell(step: Step, place: int) -> str:
    count, flag = step.non_finite[place], step.checked[place]
    if count is None:
        return "no grad"
    return f"✕ {count}" if flag else "·"


def share_rows(spread: Spread) -> list[tuple[str, ...]]:
    """One row per format and scale, in the order of SHARE_COLUMNS."""
    return [
        (
            one.dtype,
            short_scale(one.scale),
            *(
                _share(n, one.counted)
                for n in (one.lost, one.to_zero, one.subnormal, one.normal, one.overflow, one.saturated)
            ),
        )
        for one in sorted(spread.shares, key=lambda one: [lane.dtype for lane in spread.best].index(one.dtype))
    ]


def _share(part: int, whole: int) -> str:
    return "–" if not part else f"{100 * part / whole:.3g} %  ({format_count(part)})"


def spread_words(spread: Spread) -> str:
    """How many gradients were counted, of which steps, and what was left out."""
    one = spread.elements == 1
    steps = [str(number) for number in spread.steps]
    listed = f"steps {', '.join(steps[:-1])} and {steps[-1]}" if len(steps) > 1 else f"step {steps[0]}"
    left_out = [
        f"{format_count(count)} {what}"
        for count, what in ((spread.zeros, "exactly 0"), (spread.non_finite, "nan or inf"))
        if count
    ]
    return (
        f"{format_count(spread.elements)} gradient{'' if one else 's'} of float32, before {listed}"
        f"{', left out: ' + ', '.join(left_out) if left_out else ''}. "
        "Each is multiplied by the scale, converted with `.to(dtype)` and counted by what it became."
    )


def best_words(spread: Spread) -> list[str]:
    """Per format, the powers of two that lose least."""
    lines = []
    for one in spread.best:
        lost = "loses nothing" if not one.lost else f"loses {format_count(one.lost)} at least"
        where = f"2^{one.low}" if one.low == one.high else f"2^{one.low} … 2^{one.high}"
        lines.append(f"`{one.dtype}` {lost}, at {where}; fewest subnormals too at **2^{one.exponent}**")
    return lines


def clip_rows(found: Scaled) -> list[tuple[str, ...]]:
    """Right against wrong, step by step: what clipping saw, and the norm that the optimizer stepped with."""
    beside = found.beside.steps if found.beside else ()
    rows: list[tuple[str, ...]] = []
    for number in range(max(len(found.run.steps), len(beside))):
        pair = [steps[number] if number < len(steps) else None for steps in (found.run.steps, beside)]
        cells = [_norms(step) for step in pair]
        rows.append((str(number + 1), *cells[0], *cells[1]))
    return rows


CLIP_COLUMNS = ("clip saw", "norm applied", "loss")


def _norms(step: Step | None) -> tuple[str, str, str]:
    if step is None:
        return "–", "–", "–"
    saw = None if step.clipped_norm is None else step.scaled_norm if step.unscaled_norm is None else step.unscaled_norm
    applied = "skipped" if step.applied_norm is None else _number(step.applied_norm)
    return _number(saw), applied, _number(step.loss)


def _number(value: float | None) -> str:
    return "–" if value is None else format_significant(value, 6) if math.isfinite(value) else f"{value:g}"
