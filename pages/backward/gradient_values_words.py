"""What the sections of the gradient values page share: errors of the run, heights, numbers in words."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.units import format_significant
from engine.pytorch_said import PyTorchSaid
from pages.shared.pytorch_words import draw_said

ROW_HEIGHT = 35


def draw_run_error(error: PyTorchSaid | None, stage: str = "") -> None:
    """The error PyTorch raised instead of gradients."""
    if error is not None:
        draw_said(f"PyTorch raised **{error.type}**{f' in {stage}' if stage else ''}: no gradients came of it", error)


def table_height(rows: int, most: int) -> int:
    """Pixels for the rows and the header, at most `most`."""
    return min(ROW_HEIGHT * (rows + 1) + 3, most)


def draw_table(table: pd.DataFrame, most: int = 460) -> None:
    """A table of rows, floating point numbers with four significant digits."""
    floats = [name for name in table.columns if table[name].dtype.kind == "f"]
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=table_height(len(table), most),
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in floats},
    )


def cosine_words(cosine: float | None) -> str:
    """A cosine with the digits that tell it from 1."""
    if cosine is None:
        return "undefined (a norm is 0)"
    gap = 1 - cosine
    return f"1 − {format_significant(gap, 2)}" if 1e-12 < gap < 1e-3 else format_significant(cosine, 4)
