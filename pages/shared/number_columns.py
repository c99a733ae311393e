"""Columns of numbers for st.dataframe, which writes nan as None and inf as Infinity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

MISSING = "–"


def number_columns(
    table: pd.DataFrame, *, digits: int = 4, looks: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table and the configuration of its columns of numbers; `looks` are further arguments of each.

    A column that holds nan, inf or None becomes one of texts, where these are seen: None as a dash. To be told from
    nan, None needs a column of dtype object.
    """
    shown, configured = table.copy(), {}
    for name in table.columns:
        values, look = list(table[name]), (looks or {}).get(name, {})
        if not _is_numbers(values):
            continue
        if all(value is not None and math.isfinite(value) for value in values):
            configured[name] = st.column_config.NumberColumn(**({"format": f"%.{digits}g"} | dict(look)))
            shown[name] = pd.Series(values, index=table.index)
        else:
            plain = {key: value for key, value in look.items() if key != "format"}
            shown[name] = [number_text(value, digits) for value in values]
            configured[name] = st.column_config.TextColumn(alignment="right", **plain)
    return shown.infer_objects(), configured


def number_text(value: float | None, digits: int) -> str:
    """A number of a column of texts: "0.9", "nan", "-inf", whole ones digit by digit, a dash for None."""
    if value is None:
        return MISSING
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}"


def _is_numbers(values: Sequence[Any]) -> bool:
    """Floats, or numbers some of which are missing: whole ones that are all there are shown digit by digit."""
    told = [value for value in values if value is not None]
    if not told or not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in told):
        return False
    return len(told) < len(values) or any(isinstance(value, float) for value in told)
