"""A measured operator ladder as rows of text."""

from __future__ import annotations

from engine.figures.ladder import spread
from engine.figures.operator_ladder import COMPARED_WITH, speedup_words
from engine.figures.roofline import allowed_s, roof_of
from engine.figures.units import format_bytes, format_count, format_significant, format_time
from engine.operator_ladder.results import Check, OperatorLadder, Roofline, Rung
from engine.timing.comparison import Comparison

COLUMNS = (
    "rung",
    "time per call",
    "spread",
    "compared with",
    "GB/s",
    "GFLOP/s",
    "of its roof",
    "error, eps",
    "gradient error, eps",
    "saved tensors",
    "saved bytes",
    "peak bytes",
    "bytes moved",
    "page faults",
    "code",
)
NOTHING = "–"


def ladder_rows(
    ladder: OperatorLadder, comparison: Comparison | None, roofline: Roofline | None
) -> tuple[tuple[str, ...], ...]:
    """One row per rung in the order of COLUMNS; `comparison.names[0]` is what speeds are compared with."""
    return tuple(_row(rung, ladder, comparison, roofline) for rung in ladder.rungs)


def _row(
    rung: Rung, ladder: OperatorLadder, comparison: Comparison | None, roofline: Roofline | None
) -> tuple[str, ...]:
    seconds, moved = rung.seconds, rung.traffic_bytes or ladder.least_bytes
    share = allowed_s(rung, ladder, roofline) / seconds if seconds and roofline else None
    return (
        rung.name,
        format_time(seconds) if seconds else NOTHING,
        *_compared(rung.name, comparison),
        format_significant(moved / seconds / 1e9) if seconds else NOTHING,
        format_significant(ladder.flops / seconds / 1e9) if seconds else NOTHING,
        f"{share:.0%} of {roof_of(rung, ladder, roofline)}" if share is not None and roofline else NOTHING,
        _number(rung.error_eps),
        _number(rung.gradient_error_eps),
        _count(rung.saved_tensors),
        _bytes(rung.saved_bytes),
        _bytes(rung.peak_bytes),
        _bytes(rung.traffic_bytes),
        _count(rung.faults),
        rung.code,
    )


def _compared(name: str, comparison: Comparison | None) -> tuple[str, str]:
    if comparison is None or name not in comparison.names:
        return NOTHING, NOTHING
    words = {ratio.name: speedup_words(ratio) for ratio in comparison.ratios}
    return spread(comparison.samples_s[comparison.names.index(name)]), words.get(name, COMPARED_WITH)


def _number(value: float | None) -> str:
    return NOTHING if value is None else format_significant(value)


def _count(value: float | None) -> str:
    return NOTHING if value is None else format_count(round(value))


def _bytes(value: int | None) -> str:
    return NOTHING if value is None else format_bytes(value)


def rung_notes(ladder: OperatorLadder) -> tuple[str, ...]:
    """Why a rung was not measured: "rung: sentence"."""
    return tuple(
        f"{rung.name}: {rung.reason}" for rung in ladder.rungs if rung.reason and rung.reason != "not asked for"
    )


def memory_rows(ladder: OperatorLadder) -> tuple[tuple[str, ...], ...]:
    """Saved tensors and peak of every rung, in bytes and in multiples of the result."""
    return tuple(
        (
            rung.name,
            _count(rung.saved_tensors),
            _times(rung.saved_bytes, ladder.output_bytes),
            _times(rung.peak_bytes, ladder.output_bytes),
            _times(rung.traffic_bytes, ladder.output_bytes),
            _count(rung.faults),
        )
        for rung in ladder.rungs
        if rung.peak_bytes is not None
    )


MEMORY_COLUMNS = ("rung", "saved tensors", "saved for backward", "peak", "moved", "page faults per call")


def _times(value: int | None, one: int) -> str:
    if value is None:
        return NOTHING
    return f"{format_bytes(value)} ({format_significant(value / one)}×)" if one and value >= one // 2 else _bytes(value)


def check_rows(checks: tuple[Check, ...]) -> tuple[tuple[str, ...], ...]:
    """Name, question, verdict, seconds."""
    return tuple((check.name, check.asks, check.outcome, format_time(check.seconds)) for check in checks)
