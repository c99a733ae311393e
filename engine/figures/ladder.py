"""A measured ladder in words: against any rung as baseline, and a row of text per rung."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.figures.units import format_bytes, format_count, format_significant, format_time
from engine.timing.band import ratios_to_first
from engine.timing.spec import Comparison
from engine.vectorisation.spec import Ladder, Rung

COLUMNS = (
    "rung",
    "time per call",
    "spread",
    "against baseline",
    "95 % band",
    "max abs error",
    "max rel error",
    "autograd nodes",
    "extra bytes",
    "GFLOP/s",
    "note",
)


PER_NAME = ("threads_of", "warm_up_cpu_s", "warm_up_wall_s", "faults", "usage")
"""Fields of a comparison with one entry per name, empty where they were not recorded."""


def _reordered(values: tuple[Any, ...], order: Sequence[int]) -> tuple[Any, ...]:
    return tuple(values[number] for number in order) if values else ()


def rebased(comparison: Comparison, baseline: str) -> Comparison:
    """The same samples with `baseline` first, every ratio taken against it; unchanged when it was not measured."""
    if baseline not in comparison.names or comparison.names[0] == baseline:
        return comparison
    order = [comparison.names.index(baseline)]
    order += [number for number in range(len(comparison.names)) if number != order[0]]
    names = tuple(comparison.names[number] for number in order)
    samples = tuple(comparison.samples_s[number] for number in order)
    firsts = comparison.first_call_s
    return msgspec.structs.replace(
        comparison,
        names=names,
        calls=tuple(comparison.calls[number] for number in order),
        cpu_s=tuple(comparison.cpu_s[number] for number in order),
        wall_s=tuple(comparison.wall_s[number] for number in order),
        first_call_s=tuple(firsts[number] for number in order) if firsts else (),
        **{name: _reordered(getattr(comparison, name), order) for name in PER_NAME},
        ratios=ratios_to_first(names, samples),
    )


SHORT_COLUMNS = (
    "rung",
    "time per call",
    "against baseline",
    "abs error",
    "rel error",
    "nodes",
    "extra bytes",
    "GFLOP/s",
)


def short_rows(ladder: Ladder, baseline: str) -> tuple[tuple[str, ...], ...]:
    """One row per rung that was tried in the order of SHORT_COLUMNS, with spread and band in brackets."""
    rows = []
    for row in rung_rows(ladder, baseline):
        named = dict(zip(COLUMNS, row, strict=True))
        if named["time per call"] == "–":
            continue
        rows.append(
            (
                named["rung"],
                _with_range(named["time per call"], named["spread"]),
                _with_range(named["against baseline"], named["95 % band"]),
                *(named[name] for name in COLUMNS[5:10]),
            )
        )
    return tuple(rows)


def _with_range(value: str, between: str) -> str:
    return value if between == "–" else f"{value} ({between})"


def rung_notes(ladder: Ladder) -> tuple[str, ...]:
    """Why a rung was not measured, and what else is to be said of one: "rung: sentence"."""
    return tuple(f"{rung.name}: {text}" for rung in ladder.rungs for text in (rung.reason, *rung.notes) if text)


def rung_rows(ladder: Ladder, baseline: str) -> tuple[tuple[str, ...], ...]:
    """One row per rung in the order of COLUMNS; "–" where there is no value."""
    comparison = None if ladder.comparison is None else rebased(ladder.comparison, baseline)
    return tuple(_row(rung, comparison) for rung in ladder.rungs)


def _row(rung: Rung, comparison: Comparison | None) -> tuple[str, ...]:
    times = "–"
    if comparison is not None and rung.name in comparison.names:
        times = spread(comparison.samples_s[comparison.names.index(rung.name)])
    return (
        rung.name,
        _time(rung),
        times,
        *_ratio(rung, comparison),
        _number(rung.max_absolute_error),
        _number(rung.max_relative_error),
        "–" if rung.nodes is None else format_count(rung.nodes),
        "–" if rung.extra_bytes is None else format_bytes(rung.extra_bytes),
        "–" if rung.flops_per_s is None else format_significant(rung.flops_per_s / 1e9),
        " ".join(part for part in (rung.reason, *rung.notes) if part),
    )


def _time(rung: Rung) -> str:
    if rung.seconds is not None:
        return format_time(rung.seconds)
    return "–" if rung.estimated_s is None else f"{format_time(rung.estimated_s)} (estimated)"


def spread(samples_s: Sequence[float]) -> str:
    """Fastest and slowest sample."""
    return f"{format_time(min(samples_s))} to {format_time(max(samples_s))}"


def _ratio(rung: Rung, comparison: Comparison | None) -> tuple[str, str]:
    if comparison is None or rung.name not in comparison.names:
        return "–", "–"
    if rung.name == comparison.names[0]:
        return "baseline", "–"
    found = next(ratio for ratio in comparison.ratios if ratio.name == rung.name)
    words = f"{format_significant(found.ratio)}×" if found.shows_a_difference else "no difference shown"
    return words, f"{format_significant(found.low)} to {format_significant(found.high)}"


def _number(value: float | None) -> str:
    return "–" if value is None else format_significant(value)
