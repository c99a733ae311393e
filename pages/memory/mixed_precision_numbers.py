"""The key numbers of the mixed precision page."""

from __future__ import annotations

from engine.figures.mixed_precision_words import worst
from engine.mixed_precision.spec import AutocastMap, AutocastTiming
from pages.shared.key_numbers import KeyNumber

REFUSED = "refused"


def map_numbers(found: AutocastMap, timing: AutocastTiming | None = None) -> tuple[KeyNumber, ...]:
    """Bytes with and without, casts, copies kept twice, errors, and the time where it was measured."""
    casts = [cast for cast in found.casts if cast.by == "autocast"]
    output, gradient = worst(found.outputs), worst(found.gradients)
    hooks = "`saved_tensors_hooks` around forward and loss, storages of no weight, buffer or input, each once"
    return (
        KeyNumber("New bytes, plain", found.held_plain.beside_leaves_bytes, "bytes", hooks, REFUSED),
        KeyNumber("New bytes, autocast", found.held.beside_leaves_bytes, "bytes", hooks, REFUSED),
        KeyNumber("Casts", len(casts), "count", "`aten::_to_copy` under a dispatch mode, those autocast asked for"),
        KeyNumber("Bytes of casts", sum(cast.bytes for cast in casts), "bytes", "the results of these casts"),
        KeyNumber("Kept twice", _twice(found), "bytes", "casts whose copy is saved while their source lives on"),
        KeyNumber("Output error", output.relative if output else None, "", _norms("outputs"), "none to compare"),
        KeyNumber("Gradient error", gradient.relative if gradient else None, "", _norms("`.grad`"), "no gradients"),
        KeyNumber("Time ratio", _ratio(timing), "", "paired rounds of the section Time", "see Time"),
    )


def _twice(found: AutocastMap) -> int:
    return sum(row.copy_bytes for row in found.kept_twice)


def _norms(what: str) -> str:
    return f"the largest `(b - a).norm() / a.norm()` of {what}, in float64, against the plain run"


def _ratio(timing: AutocastTiming | None) -> float | None:
    return timing.steps.ratios[0].ratio if timing is not None and timing.steps is not None else None
