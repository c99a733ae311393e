"""One value in every format: bits, neighbours, ranges, limits and additions that are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from engine.figures.number_format_bits import bits_html, error_text
from engine.figures.number_format_charts import gap_chart, ranges_chart
from engine.figures.number_format_words import (
    LIMIT_COLUMNS,
    STORED_COLUMNS,
    SUM_COLUMNS,
    beyond_rows,
    limit_rows,
    stored_rows,
    sum_rows,
)
from engine.number_format.results import Formats, Value
from engine.number_format.spec import NumberFormatSpec
from pages.shared.fields import common_arguments
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.theme import shown_theme

SHOWN = "format.shown"
CHART = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}
TABS = ("In every dtype", "Limits", "Beyond the limits", "Lost additions", "How to read this")
MEASURED = ("float32", "bfloat16", "float16", "float8_e5m2", "float8_e4m3fn")
STORED_WIDTHS = {"dtype": 126, "outcome": 82, "relative error": 102, "rounding": 128, "spacing": 86, "bits": 148}
HOW_TO_READ = (
    "A number is sign × 1.mantissa × 2^(exponent − bias); exponent bits decide how far a format reaches, mantissa bits "
    "how many digits it keeps. With all exponent bits 0 the leading 1 becomes 0: *subnormal* numbers, evenly spaced "
    "down to 0, with fewer and fewer digits. Conversion rounds to the nearest number, a tie to the one whose last bit "
    "is 0. Errors and `rounding` are checked in exact fractions against the number as typed; `exact` is that number "
    "itself. torch converts float64 to float16 and to float8 *by way of float32*, which rounds twice and in rare cases "
    "ends one number off. What lies beyond the largest number becomes inf, nan, or the largest number, depending on "
    "the format."
)


def draw_value(spec: NumberFormatSpec, found: Formats, before: Formats | None) -> None:
    """Bits, key numbers, both charts, tables."""
    place = _choose(found)
    value, typed = found.values[place], spec.typed[place]
    st.html(bits_html(value, shown_theme()))
    draw_key_numbers(numbers_of(value), _numbers_before(value, before))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Between which two numbers does it lie?**")
        st.plotly_chart(gap_chart(value, typed.exact, shown_theme()), key="format.gap", config=CHART)
    with right:
        st.markdown("**What does each format hold?**")
        st.plotly_chart(ranges_chart(value, found.limits, shown_theme()), key="format.ranges", config=CHART)
    tabs = st.tabs(TABS, key="format.details", on_change="rerun")
    shown = (_draw_stored, _draw_limits, _draw_beyond, _draw_sums, _draw_explanation)
    for tab, draw in zip(tabs, shown, strict=True):
        if tab.open:
            with tab:
                draw(found, value)


def _choose(found: Formats) -> int:
    """The number that is shown, by its place among those typed."""
    if len(found.values) == 1:
        return 0
    texts = [f"{place}: {one.text}" for place, one in enumerate(found.values, 1)]
    chosen = st.selectbox("number shown", texts, **common_arguments(SHOWN, "Of those typed, the one in the pictures"))
    return texts.index(chosen) if chosen in texts else 0


def _numbers_before(value: Value, before: Formats | None) -> tuple[KeyNumber, ...] | None:
    """Those of the same number in pinned A, or of its only one where each has one; else says that A has none."""
    if before is None:
        return None
    same = next((one for one in before.values if one.text == value.text), None)
    if same is None and len(before.values) > 1:
        st.caption(f"A holds {', '.join(f'`{one.text}`' for one in before.values)}, not `{value.text}`: no difference.")
        return None
    return numbers_of(before.values[0] if same is None else same)


def numbers_of(value: Value) -> tuple[KeyNumber, ...]:
    """How far each of five formats is off, relative to the number as typed."""
    stored = {one.dtype: one for one in value.stored}
    read_from = "`tensor.to(dtype)`, its bits read by hand and compared with the number as typed in exact fractions"
    return tuple(
        KeyNumber(
            f"Off in {name.removeprefix('float8_')}",
            stored[name].relative_error,
            "",
            read_from,
            error_text(stored[name]),
        )
        for name in MEASURED
        if name in stored
    )


def _table(rows: Sequence[Sequence[str]], columns: Sequence[str], widths: Mapping[str, int] | None = None) -> None:
    """`widths` in pixels, of columns whose words would be cut or take the room of others."""
    config = {name: st.column_config.Column(width=width) for name, width in (widths or {}).items()}
    table = pd.DataFrame(rows, columns=list(columns))
    st.dataframe(table, hide_index=True, width="stretch", column_config=config)


def _draw_stored(found: Formats, value: Value) -> None:
    _table(stored_rows(value), STORED_COLUMNS, STORED_WIDTHS)
    for refusal in found.refused:
        st.caption(f"`{refusal.dtype}` is there, but torch does not convert to it: {refusal.error.message}")


def _draw_limits(found: Formats, value: Value) -> None:
    _table(limit_rows(found), LIMIT_COLUMNS)
    st.caption("bits are sign + exponent + mantissa. ≠ marks where `torch.finfo` and the layout of the bits disagree.")


def _draw_beyond(found: Formats, value: Value) -> None:
    columns, rows = beyond_rows(found)
    _table(rows, columns)
    st.caption(
        "Each is a float64 converted with `.to(dtype)`. max is the largest, smallest the smallest number above 0."
    )


def _draw_sums(found: Formats, value: Value) -> None:
    _table(sum_rows(found), SUM_COLUMNS)
    st.caption("The last column adds 1 to 2^(mantissa bits + 1), where neighbours are 2 apart: a tie, rounded to even.")


def _draw_explanation(found: Formats, value: Value) -> None:
    st.markdown(HOW_TO_READ)
