"""The section on broadcasting: aligned shapes, linked cells, bytes, dtype, gradients, in-place rules."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd
import streamlit as st

from engine.broadcasting.promotion import promotion_in_words
from engine.broadcasting.results import Broadcast, TriedFix
from engine.broadcasting.rule import fault_in_words, operation_alignment
from engine.broadcasting.spec import BroadcastSpec
from engine.figures.broadcasting_cells import broadcast_scene, is_cut
from engine.figures.broadcasting_table import alignment_html
from engine.figures.cells import CellScene, encode_cells
from engine.figures.units import format_bytes, format_shape
from engine.pytorch_said import PyTorchSaid
from pages.shared.cells_component import show_cells
from pages.shared.fields import ints_text
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.theme import shown_theme
from pages.tensors.broadcasting_numbers import broadcast_numbers

PICTURE_HEIGHT = 500
WIDE = 4
"""Dims up to which the table leaves room for words beside it."""
HOW_TO_READ = (
    "Shapes are aligned from the right. Sizes that meet must be equal, or one of them 1 or missing: a missing "
    "dimension is *new*, a size of 1 is *stretched*, and both get stride 0, so that every step along them reads the "
    "same memory again. Nothing is copied. Backward goes the other way: the gradient of a stretched dimension is the "
    "sum over it. In place, the result must fit into the left operand, which cannot grow."
)
TABS = ("Bytes and gradients", "dtype", "In place and writes", "How to read this")


def draw_broadcast(spec: BroadcastSpec, outcome: Broadcast, before: Broadcast | None) -> None:
    """Alignment, picture, key numbers, details."""
    dims = len(operation_alignment(spec.operation, spec.shapes).columns)
    table, verdict = st.columns([3, 2], gap="large") if dims <= WIDE else (st.container(), st.container())
    with table:
        st.html(alignment_html(spec, outcome, shown_theme()))
    with verdict:
        _draw_verdict(spec, outcome)
    _draw_picture(spec)
    draw_key_numbers(broadcast_numbers(outcome), broadcast_numbers(before) if before else None)
    tabs = st.tabs(TABS, key="broadcast.details", on_change="rerun")
    for tab, draw in zip(tabs, (_draw_bytes, _draw_dtype, _draw_writes, _draw_explanation), strict=True):
        if tab.open:
            with tab:
                draw(spec, outcome)


def _draw_verdict(spec: BroadcastSpec, outcome: Broadcast) -> None:
    if outcome.error is not None:
        draw_said(outcome.error)
        words = fault_in_words(operation_alignment(spec.operation, spec.shapes))
        if words:
            st.markdown(words)
        _draw_fixes(outcome)
        return
    st.markdown(f"`{spec.expression}` → **{format_shape(outcome.shape)}** `{outcome.dtype}`")
    if outcome.grows and spec.operation != "matmul":
        st.info(
            "Every operand is stretched: the result has more elements than each of them. Meant so, or is a dimension "
            "missing?",
            icon=":material/open_in_full:",
        )
    for warning in outcome.warnings:
        st.warning(f"PyTorch warns: {warning}")
    if not outcome.computed:
        st.caption("Too large to make for a look: shapes, strides and bytes are read from the meta device.")


def draw_said(error: PyTorchSaid) -> None:
    """PyTorch's own words."""
    st.markdown(f":material/block: PyTorch refuses: **{error.type}**")
    st.code(error.message, language=None, wrap_lines=True)


def _draw_fixes(outcome: Broadcast) -> None:
    if outcome.fix_refusal is not None:
        st.markdown("Other shapes alone do not help: with shapes that fit, PyTorch says:")
        st.code(outcome.fix_refusal.message, language=None, wrap_lines=True)
        return
    if not outcome.fixes:
        st.caption("No transposition and no dimension of size 1 in one operand makes these shapes fit.")
        return
    st.markdown("What would fit, each tried in PyTorch:")
    for number, fix in enumerate(outcome.fixes):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            larger = " (grows)" if fix.grows else ""
            st.markdown(f"`{fix.code}` → {format_shape(fix.result_shape)}{larger}", width="content")
            st.button(
                "Use",
                icon=":material/check:",
                key=f"broadcast.use.{number}",
                type="tertiary",
                help=f"Gives {fix.operand} the shape {format_shape(fix.operand_shape)}",
                on_click=_use,
                args=(fix,),
            )
    st.caption("Fitting is not meaning: choose the one whose dimensions are the same thing.")


def _use(fix: TriedFix) -> None:
    st.session_state[f"broadcast.{fix.operand}"] = ints_text(fix.operand_shape)


@st.fragment
def _draw_picture(spec: BroadcastSpec) -> None:
    _, encoded = picture(spec)
    show_cells(encoded, key="broadcast.cells", height=PICTURE_HEIGHT)
    if is_cut(spec):
        st.caption("Drawn with smaller sizes than computed, cut alike: what is 1 or equal stays so.")


@lru_cache(maxsize=64)
def picture(spec: BroadcastSpec) -> tuple[CellScene, bytes]:
    """The scene of the operation and the same encoded for the canvas."""
    scene = broadcast_scene(spec)
    return scene, encode_cells(scene)


def _draw_bytes(spec: BroadcastSpec, outcome: Broadcast) -> None:
    st.dataframe(operand_table(outcome), hide_index=True, width="stretch")
    if outcome.backward_error is not None:
        st.markdown("`result.backward(g)` is refused")
        st.code(outcome.backward_error.message, language=None, wrap_lines=True)
        return
    st.caption(
        "*.grad shape* and *summed over* are read after `result.backward(g)` with whole-numbered g; *off* is "
        "the distance to the same gradient summed by hand."
        if any(place.gradient for place in outcome.operands)
        else "No gradients: the result is not made, or no operand is of a floating point dtype."
    )


def operand_table(outcome: Broadcast) -> pd.DataFrame:
    """One row per operand: expanded form, bytes, gradient."""
    places = outcome.operands
    gradients = [place.gradient for place in places]
    return pd.DataFrame(
        {
            "operand": [place.name for place in places],
            "shape": ["Python number" if place.is_number else format_shape(place.shape) for place in places],
            "stride": [str(place.stride) for place in places],
            "expanded stride": [_or_dash(place.expanded_stride) for place in places],
            "bytes": [format_bytes(place.storage_bytes) for place in places],
            "expanded bytes": [_bytes_or_dash(place.expanded_storage_bytes) for place in places],
            "repeat": [_bytes_or_dash(place.repeat_bytes) for place in places],
            ".grad shape": [_or_dash(found.shape if found else None) for found in gradients],
            "summed over": [_or_dash(found.summed_dims if found else None) for found in gradients],
            "off": [_off_or_dash(found.max_abs_error if found else None) for found in gradients],
        }
    )


def _or_dash(value: tuple[int, ...] | None) -> str:
    return "–" if value is None else str(value)


def _bytes_or_dash(value: int | None) -> str:
    return "–" if value is None else format_bytes(value)


def _off_or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _draw_dtype(spec: BroadcastSpec, outcome: Broadcast) -> None:
    st.markdown(promotion_in_words(spec.operands))
    said = f"`torch.result_type` says `{outcome.result_type}`" if outcome.result_type else "More than two operands"
    result = f"the result's dtype is `{outcome.dtype}`" if outcome.dtype else "there is no result"
    st.markdown(f"{said}; {result}.")
    st.caption(
        "Tensors with dimensions outrank 0-dim tensors, and those outrank Python numbers: a lower rank changes the "
        "dtype only with a higher category (bool < integer < floating point < complex). `@` promotes nothing."
    )


def _draw_writes(spec: BroadcastSpec, outcome: Broadcast) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**In place the left operand must have the result's shape**")
        for entry in outcome.in_place:
            st.markdown(f"`{entry.code}` {'is refused' if entry.error else 'is carried out'}")
            if entry.error:
                st.code(entry.error.message, language=None, wrap_lines=True)
        if not outcome.in_place:
            st.caption("Shown for add, sub and mul of two operands.")
    with right:
        st.markdown("**Writing into an expanded tensor**")
        for write in outcome.writes:
            if write.error:
                st.markdown(f"`{write.code}` is refused")
                st.code(write.error.message, language=None, wrap_lines=True)
            else:
                st.markdown(f"`{write.code}` is carried out, and **{write.changed}** elements change")
        if not outcome.writes:
            st.caption("No operand is expanded, or the sizes are too large to make.")


def _draw_explanation(spec: BroadcastSpec, outcome: Broadcast) -> None:
    st.markdown(HOW_TO_READ)
