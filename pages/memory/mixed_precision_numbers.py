"""The key numbers of the mixed precision page."""

from __future__ import annotations

from engine.figures.mixed_precision_words import worst
from engine.figures.timing_chart import verdict
from engine.figures.units import format_bytes
from engine.mixed_precision.spec import AutocastMap, AutocastTiming
from pages.shared.key_numbers import KeyNumber

REFUSED = "refused"
TWICE = "Kept twice"


def map_numbers(found: AutocastMap, timing: AutocastTiming | None = None) -> tuple[KeyNumber, ...]:
    """Bytes with and without, casts, copies kept twice, errors, and the time where it was measured."""
    casts = [cast for cast in found.casts if cast.by == "autocast"]
    output, gradient = worst(found.outputs), worst(found.gradients)
    hooks = (
        "`saved_tensors_hooks` around forward and loss: what is still saved when the loss is there, in storages of no "
        "weight, buffer, input or target, each once"
    )
    asked = "`aten::_to_copy` under a dispatch mode, those autocast asked for"
    copies = f"{asked}; {format_bytes(sum(cast.bytes for cast in casts))} of copies"
    numbers = (
        KeyNumber("Plain keeps", found.held_plain.beside_leaves_bytes, "bytes", hooks, REFUSED),
        KeyNumber("Autocast keeps", found.held.beside_leaves_bytes, "bytes", hooks, REFUSED),
        KeyNumber(TWICE, _twice(found), "bytes", "casts whose copy is saved while their source lives on"),
        KeyNumber("Casts", len(casts), "count", copies),
        KeyNumber("Output error", output.relative if output else None, "", _norms("outputs"), "none"),
        KeyNumber("Gradient error", gradient.relative if gradient else None, "", _norms("`.grad`"), "none"),
    )
    if timing is None:
        return numbers
    # In the place of what the section "Saved copies" is about: seven have no room in a row.
    return (*(one for one in numbers if one.label != TWICE), _time_number(timing))


def _twice(found: AutocastMap) -> int:
    return sum(row.copy_bytes for row in found.kept_twice)


def _norms(what: str) -> str:
    return f"the largest `(b - a).norm() / a.norm()` of {what}, in float64, against the plain run"


def _time_number(timing: AutocastTiming) -> KeyNumber:
    read_from = "paired rounds, autocast / plain"
    if timing.steps is None:
        return KeyNumber("Time ratio", None, "", read_from, REFUSED)
    ratio = timing.steps.ratios[0]
    label = "Time ratio" if ratio.shows_a_difference else "Time, unclear"
    return KeyNumber(label, ratio.ratio, "", f"{read_from}: {ratio.name}, {verdict(ratio)}", REFUSED)
