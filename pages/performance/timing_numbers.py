"""The key numbers and tables of a comparison."""

from __future__ import annotations

from statistics import median

import pandas as pd

from engine.figures.units import format_bytes, format_count, format_significant, format_time
from engine.timing.results import Distance, Side, Timing
from pages.shared.key_numbers import KeyNumber


def timing_numbers(timing: Timing) -> tuple[KeyNumber, ...]:
    """Time, ratio, page faults and distance; what was not measured says so."""
    comparison = timing.comparison
    if comparison is None:
        return ()
    clock = f"{comparison.clock} time, median of {comparison.rounds} samples"
    (a, b), (fault_a, fault_b) = comparison.median_s, (median(faults) for faults in comparison.faults)
    kernel = "getrusage(RUSAGE_SELF).ru_minflt, median of the rounds"
    return (
        KeyNumber("A per call", a, "s", clock),
        KeyNumber("B per call", b, "s", clock),
        KeyNumber("B / A, median of paired ratios", comparison.ratio, "", "B / A of every round"),
        KeyNumber("A page faults a call", round(fault_a), "count", kernel),
        KeyNumber("B page faults a call", round(fault_b), "count", kernel),
        KeyNumber("B from A", timing.agreement.absolute, "", "(B - A).abs().max() in float64", _missing(timing)),
    )


def _missing(timing: Timing) -> str:
    return "not finite" if timing.agreement.verdict == "different" else "no common shape"


def results_table(timing: Timing) -> pd.DataFrame:
    """One row per pair of results: distance and verdict."""
    rows = [("B against A", timing.agreement)]
    rows += [(f"{name} against float64", side.to_reference) for name, side in _sides(timing) if side.to_reference]
    return pd.DataFrame(
        {
            "compared": [name for name, _ in rows],
            "verdict": [found.verdict for _, found in rows],
            "max abs": [_number(found.absolute) for _, found in rows],
            "max rel": [_number(found.relative) for _, found in rows],
            "rounding explains": [_number(found.tolerance) for _, found in rows],
        }
    )


def _sides(timing: Timing) -> tuple[tuple[str, Side], ...]:
    return ("A", timing.a), ("B", timing.b)


def _number(value: float | None) -> str:
    return "–" if value is None else format_significant(value)


def side_rows(timing: Timing) -> tuple[tuple[str, ...], ...]:
    """One row of words per side, for the report."""
    found = timing.comparison
    return tuple(
        (
            name,
            side.title,
            "–" if found is None else format_time(found.median_s[place]),
            "–" if side.first_call_s is None else format_time(side.first_call_s),
            "–" if found is None else format_count(round(median(found.faults[place]))),
            format_bytes(side.output_bytes),
            _distance(side.to_reference),
        )
        for place, (name, side) in enumerate(_sides(timing))
    )


def _distance(found: Distance | None) -> str:
    return "–" if found is None else f"{found.verdict}, {_number(found.absolute)}"
