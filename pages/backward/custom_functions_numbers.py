"""The key numbers of the page on custom Functions."""

from __future__ import annotations

import math

import numpy as np

from engine.custom_function.results import CheckedFunction
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.custom_function_curves import reference_of, values_of
from engine.figures.units import format_bytes, format_significant
from pages.shared.key_numbers import KeyNumber

WORST = "the largest difference of both Jacobians at gradcheck's points"


def function_numbers(spec: CustomFunctionSpec, found: CheckedFunction) -> tuple[KeyNumber, ...]:
    """How far the Jacobians and the curves are apart, entries off, order of the first failure, bytes kept."""
    worst = found.check.worst
    apart = worst.difference if worst is not None and math.isfinite(worst.difference) else None
    has_entries = bool(found.check.entries)
    return (
        KeyNumber("Worst entry", apart, "", WORST, "none" if worst is None else "NaN or ∞"),
        KeyNumber(
            "Entries off",
            found.check.mismatches if has_entries else None,
            "count",
            f"entries beyond atol + rtol · |numerical|, of {found.check.entries}",
            "none",
        ),
        KeyNumber("Off over x", curve_distance(found), "", "backward against the exact derivative over x", "no curve"),
        KeyNumber(
            "Fails at order",
            found.first_failing_order,
            "count",
            f"`gradcheck`, then `gradgradcheck` up to order {len(found.orders)}",
            f"none to {len(found.orders)}" if found.orders else "not run",
        ),
        KeyNumber(
            "ctx keeps", found.call.saved_bytes, "bytes", "storages of `saved_tensors` and of tensors set on ctx, once"
        ),
    )


def number_text(value: float, unit: str) -> str:
    """A key number for a report."""
    return format_bytes(value) if unit == "bytes" else format_significant(value)


def curve_distance(found: CheckedFunction) -> float | None:
    """Largest distance of backward from the reference over all curves, where both are finite."""
    distances = []
    for curve in found.curves:
        ours, reference = values_of(curve, "analytic"), reference_of(curve)[1]
        if ours is not None:
            apart = np.abs(ours - reference)
            distances += [float(apart[np.isfinite(apart)].max())] if np.isfinite(apart).any() else []
    return max(distances, default=None)
