"""The section on the article's hvp: its code and the corrected one side by side, in every situation."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.units import format_significant
from engine.higher_order.results import Article, Tried
from engine.higher_order.spec import ArticleSpec
from engine.pytorch_said import PyTorchSaid
from engine.script.higher_order_article import CORRECTED, LITERAL
from pages.backward.higher_order_numbers import numbers_of
from pages.shared.key_numbers import draw_key_numbers

CODE_HEIGHT = 360
ROW_PIXELS = 62
COLUMNS = {
    "situation": st.column_config.TextColumn(width=190),
    "article": st.column_config.TextColumn(width=110),
    "corrected": st.column_config.TextColumn(width=130),
    "why": st.column_config.TextColumn(width=430),
}


def draw_article(spec: ArticleSpec, found: Article, before: tuple[ArticleSpec, Article] | None) -> None:
    """Both functions with what they gave here, then the table of all situations."""
    one = found.of(spec.situation)
    st.markdown(f"**{one.situation}**: {one.why}")
    left, right = st.columns([4, 5], gap="medium")
    with left:
        st.markdown("As the article has it")
        st.code(LITERAL, language="python", height=CODE_HEIGHT, wrap_lines=True)
        _draw_outcome(one.error, one.distance)
    with right:
        st.markdown("Corrected")
        st.code(CORRECTED, language="python", height=CODE_HEIGHT, wrap_lines=True)
        _draw_outcome(one.corrected_error, one.corrected_distance)
    draw_key_numbers(numbers_of(spec, found), numbers_of(*before) if before else None)
    every, gradients = st.tabs(["Every situation", "The gradients here"], key="article.details", on_change="rerun")
    if every.open:
        shown = brief_rows(found)
        every.dataframe(shown, hide_index=True, width="stretch", row_height=ROW_PIXELS, column_config=COLUMNS)
        every.caption("Choose a situation on the left for PyTorch's words in full; the CSV holds them all.")
    if gradients.open:
        gradients.code("\n".join(one.strides), language=None)
        gradients.caption("`view(-1)` needs strides that one step can walk; `reshape(-1)` copies where they are not.")


def _draw_outcome(error: PyTorchSaid | None, distance: float | None) -> None:
    if error is not None:
        st.error(f"Raises {error.type}", icon=":material/block:")
        st.code(error.message, language=None, wrap_lines=True)
    elif distance is not None:
        off = format_significant(distance)
        st.success(f"Right: off the full Hessian @ v by {off} at most", icon=":material/check:")


def brief_rows(found: Article) -> pd.DataFrame:
    """The same for the screen: of an exception its type alone, so that the reason stands beside it."""
    rows = situation_rows(found)
    for name in ("article", "corrected"):
        rows[name] = [words.partition(": ")[0] for words in rows[name]]
    return rows


def situation_rows(found: Article) -> pd.DataFrame:
    """One row per situation: what either function did."""
    return pd.DataFrame(
        {
            "situation": [one.situation for one in found.tried],
            "article": [_outcome(one.error, one.distance) for one in found.tried],
            "corrected": [_outcome(one.corrected_error, one.corrected_distance) for one in found.tried],
            "why": [_plain(one) for one in found.tried],
        }
    )


def _outcome(error: PyTorchSaid | None, distance: float | None) -> str:
    if error is not None:
        return f"{error.type}: {error.message}"
    return "" if distance is None else f"right, off by {format_significant(distance)}"


def _plain(one: Tried) -> str:
    return one.why.replace("`", "")
