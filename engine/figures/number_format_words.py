"""The tables of the number format page as rows of words."""

from __future__ import annotations

from engine.figures.number_format_bits import value_text
from engine.figures.units import format_count
from engine.number_format.formats import BY_NAME
from engine.number_format.results import Formats, RunningSums, Value

STORED_COLUMNS = (
    "dtype", "outcome", "stored", "relative error", "rounding", "scaled and back", "below", "above", "spacing", "bits",
)  # fmt: skip
LIMIT_COLUMNS = (
    "dtype",
    "bits",
    "max",
    "smallest normal",
    "smallest subnormal",
    "eps, by hand",
    "eps, finfo",
    "layout",
)
SUM_COLUMNS = ("dtype", "1 + eps", "1 + eps / 2", "first whole number + 1")
RUN_COLUMNS = ("dtype", "the addend is", "total", "stands still from", "torch.sum gives", "how it was added")


def stored_rows(value: Value) -> list[tuple[str, ...]]:
    """One row per format, in the order of STORED_COLUMNS."""
    return [
        (
            one.dtype,
            one.outcome,
            value_text(one.value),
            _or_dash(one.relative_error, 4),
            one.rounding,
            value_text(one.scaled_back),
            "–" if one.below is None else value_text(one.below),
            "–" if one.above is None else value_text(one.above),
            _or_dash(one.spacing, 4),
            one.bits,
        )
        for one in value.stored
    ]


def limit_rows(found: Formats) -> list[tuple[str, ...]]:
    """torch.finfo beside what the layout of the bits gives, in the order of LIMIT_COLUMNS."""
    rows: list[tuple[str, ...]] = []
    for limit in found.limits:
        layout = BY_NAME[limit.dtype]
        eps = float(layout.eps)
        subnormal = layout.smallest_subnormal
        rows.append(
            (
                limit.dtype,
                f"{layout.sign_bits} + {layout.exponent_bits} + {layout.mantissa_bits}",
                f"{limit.largest:.6g}",
                f"{limit.smallest_normal:.6g}",
                "none" if subnormal is None else f"{float(subnormal):.6g}",
                f"{eps:.6g}",
                f"{limit.eps:.6g}" + ("" if limit.eps == eps else "  ≠"),
                layout.source,
            )
        )
    return rows


def beyond_rows(found: Formats) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """(columns, rows): what every format makes of inf, nan and numbers that it does not hold."""
    names = tuple(name for name, _ in found.limits[0].beyond) if found.limits else ()
    return ("dtype", *names), [(one.dtype, *(f"{made:.6g}" for _, made in one.beyond)) for one in found.limits]


def sum_rows(found: Formats) -> list[tuple[str, ...]]:
    """Additions whose result is an operand, in the order of SUM_COLUMNS."""
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(one.dtype for one in found.sums):
        mine = [one for one in found.sums if one.dtype == name]
        if mine[0].error is not None:
            rows.append((name, *(["refused"] * 2), mine[0].error.message))
            continue
        texts = [value_text(one.result) if one.result is not None else "refused" for one in mine]
        rows.append((name, texts[0], texts[1], f"{mine[2].code} = {mine[2].result:.0f}"))
    return rows


def run_rows(found: RunningSums) -> list[tuple[str, ...]]:
    """One row per dtype, in the order of RUN_COLUMNS."""
    return [
        (
            run.dtype,
            value_text(run.addend),
            value_text(run.total),
            "never" if run.stops_at is None else f"addition {format_count(run.stops_at)}",
            "refused" if run.torch_sum is None else value_text(run.torch_sum),
            "in float32, converted each time: torch adds no float8" if run.emulated else "a + b in this dtype",
        )
        for run in found.runs
    ]


def _or_dash(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}g}"
