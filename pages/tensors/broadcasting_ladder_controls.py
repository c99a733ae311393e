"""The controls of the ladder: which computation, how large, measured how."""

from __future__ import annotations

import streamlit as st

from engine.vectorisation.spec import LadderSpec, SweepSpec
from pages.shared.fields import draw_field, field_value

FIELDS = ("problem", "rows", "columns", "dtype", "threads", "rounds", "seed")
VISIBLE = ("problem", "rows", "columns", "dtype", "threads")
SWEPT = ("grow", "smallest", "largest", "points", "first", "second", "rounds")
SHARED = ("problem", "rows", "columns", "dtype", "threads", "seed")
SQUARE = "squared_diagonal"


def draw_ladder_controls() -> None:
    """The computation and its size first, the way of measuring folded."""
    is_square = field_value(LadderSpec, "problem", "ladder.problem") == SQUARE
    for name in VISIBLE:
        reason = "The matrix is rows x rows" if is_square and name == "columns" else ""
        draw_field(LadderSpec, name, f"ladder.{name}", reason=reason)
    with st.expander("Measuring", key="ladder.measuring"):
        for name in FIELDS:
            if name not in VISIBLE:
                draw_field(LadderSpec, name, f"ladder.{name}")


def ladder_spec() -> LadderSpec:
    """What the controls describe; ValueError in words where it would take too long."""
    return LadderSpec(**{name: field_value(LadderSpec, name, f"ladder.{name}") for name in FIELDS})


def draw_sweep_controls() -> None:
    """What grows, from where to where, and which two rungs to look for a crossover of."""
    for names in (SWEPT[:4], SWEPT[4:]):
        for column, name in zip(st.columns(len(names), gap="small"), names, strict=True):
            with column:
                draw_field(SweepSpec, name, f"sweep.{name}")


def sweep_spec(ladder: LadderSpec) -> SweepSpec:
    """The sweep of the same computation; its `rows` and `columns` are what does not grow."""
    swept = {name: field_value(SweepSpec, name, f"sweep.{name}") for name in SWEPT}
    return SweepSpec(**swept, **{name: getattr(ladder, name) for name in SHARED})


def ladder_values(spec: LadderSpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show `spec`."""
    return {f"ladder.{name}": getattr(spec, name) for name in FIELDS}
