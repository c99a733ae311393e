"""The controls of the operators page: which operator, how large, measured how."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import msgspec
import streamlit as st

from engine.operator_ladder.catalogue import CATALOGUE, offered
from engine.operator_ladder.row import Row, Work
from engine.operator_ladder.spec import OperatorLadderSpec, Size
from pages.shared.fields import common_arguments, draw_field, field_value
from pages.shared.operators_build import operators_or_reason

OPERATOR = "operators.operator"
SIZES = ("rows", "columns", "inner")
MEASURED = ("dtype", "threads", "rounds", "seed")


def draw_controls() -> None:
    """The operator and its size first, the way of measuring folded."""
    names = offered()
    st.selectbox("operator", names, index=0, **common_arguments(OPERATOR, "torch.ops.atlas.*, as csrc has them"))
    row = current_row()
    st.caption(f"`{row.computes}`")
    for name, label in zip(SIZES, row.sizes, strict=True):
        if label:
            draw_field(sizes_of(row.operator), name, size_key(row, name), label=label)
    draw_field(OperatorLadderSpec, "dtype", "operators.dtype")
    _draw_work(row)
    draw_field(OperatorLadderSpec, "threads", "operators.threads")
    with st.expander("Measuring", key="operators.measuring"):
        st.multiselect("rungs", row.rungs, default=row.rungs, **common_arguments(rungs_key(row), "At least two"))
        draw_field(OperatorLadderSpec, "rounds", "operators.rounds")
        draw_field(OperatorLadderSpec, "seed", "operators.seed")


def current_row() -> Row:
    """The chosen operator's row of the catalogue."""
    names = offered()
    chosen = st.session_state.get(OPERATOR)
    return CATALOGUE[chosen if chosen in names else names[0]]


def size_key(row: Row, name: str) -> str:
    """Sizes belong to the operator: what suits a matrix product does not suit a loss."""
    return f"operators.{row.operator}.{name}"


def rungs_key(row: Row) -> str:
    """Rungs differ from operator to operator."""
    return f"operators.{row.operator}.rungs"


@cache
def sizes_of(operator: str) -> type[msgspec.Struct]:
    """The sizes of an operator as fields, with its own defaults and the ranges of the spec."""
    fields = [(name, Size, default) for name, default in zip(SIZES, CATALOGUE[operator].default, strict=True)]
    return msgspec.defstruct(f"Sizes of {operator}", fields, frozen=True)


def _draw_work(row: Row) -> None:
    arguments = common_arguments("operators.work", "" if row.backward else f"{row.operator} has no backward")
    st.selectbox("work", get_args(Work), index=1, disabled=row.backward is None, **arguments)


def current_spec() -> OperatorLadderSpec:
    """What the controls describe; ValueError in words where it cannot be run."""
    row = current_row()
    kind = sizes_of(row.operator)
    rungs = st.session_state.get(rungs_key(row), row.rungs)
    values: dict[str, Any] = {
        name: field_value(kind, name, size_key(row, name)) if label else 1
        for name, label in zip(SIZES, row.sizes, strict=True)
    }
    values |= {name: field_value(OperatorLadderSpec, name, f"operators.{name}") for name in MEASURED}
    return OperatorLadderSpec(
        operator=row.operator,
        is_reference=bool(operators_or_reason()),
        left_out=tuple(rung for rung in row.rungs if rung not in rungs),
        work="forward" if row.backward is None else st.session_state.get("operators.work", get_args(Work)[1]),
        **values,
    )


def values_of(spec: OperatorLadderSpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show `spec`."""
    row = spec.row
    values: dict[str, object] = {OPERATOR: spec.operator, "operators.work": spec.work}
    values |= {f"operators.{name}": getattr(spec, name) for name in MEASURED}
    values |= {size_key(row, name): getattr(spec, name) for name, label in zip(SIZES, row.sizes, strict=True) if label}
    return values | {rungs_key(row): [rung for rung in row.rungs if rung not in spec.left_out]}
