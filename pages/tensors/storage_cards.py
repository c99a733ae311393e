"""One card per tensor of the chain, and every attribute of all of them as a table."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from engine.figures.units import format_bytes, format_exact_bytes
from engine.storage.chain import format_chain
from engine.storage.operations import OPERATIONS
from engine.storage.spec import Layout, LayoutSpec, LayoutTrace, StepOutcome
from pages.shared.pytorch_words import draw_said

NARROWEST = 200
"""Pixels a card needs."""

ATTRIBUTES: dict[str, Callable[[Layout], object]] = {
    "shape": lambda t: t.shape,
    "stride()": lambda t: t.stride,
    "storage_offset()": lambda t: t.storage_offset,
    "dtype": lambda t: t.dtype,
    "device": lambda t: t.device,
    "layout": lambda t: t.layout,
    "itemsize": lambda t: t.itemsize,
    "numel()": lambda t: t.numel,
    "nbytes": lambda t: t.view_bytes,
    "untyped_storage().nbytes()": lambda t: t.storage_bytes,
    "storage": lambda t: None if t.storage_id is None else f"S{t.storage_id}",
    "data_ptr() − storage's": lambda t: t.data_ptr_offset_bytes,
    "is_contiguous()": lambda t: t.is_contiguous,
    "… channels_last": lambda t: t.is_channels_last,
    "… channels_last_3d": lambda t: t.is_channels_last_3d,
    "non-overlapping and dense": lambda t: t.is_non_overlapping_and_dense,
    "is_leaf": lambda t: t.is_leaf,
    "requires_grad": lambda t: t.requires_grad,
    "grad_fn": lambda t: t.grad_fn,
    "_version": lambda t: t.version,
    "_is_view()": lambda t: t.is_view,
    "_base": lambda t: None if t.base is None else tensor_name(t.base),
    "is_conj()": lambda t: t.is_conj,
    "is_neg()": lambda t: t.is_neg,
    "not available": lambda t: t.unavailable or None,
}
"""How the attribute is typed -> how it is read from a Layout."""


def tensor_name(step: int) -> str:
    """x for the tensor that was built, t1, t2 … for what the steps gave."""
    return f"t{step}" if step else "x"


def draw_cards(spec: LayoutSpec, trace: LayoutTrace) -> None:
    """What each step did: a view, a copy and of how many bytes, or why PyTorch refused."""
    grid = st.grid("auto", min_column_width=NARROWEST, gap="small")
    for number, layout in enumerate(trace.layouts):
        with grid.container(border=True, key=f"card.{number}", gap="xsmall"):
            _draw_head(number, spec, trace.outcomes[number - 1] if number else None)
            _draw_layout(layout)
    for outcome in trace.outcomes:
        for warning in outcome.warnings:
            st.warning(warning, icon=":material/warning:")


def _draw_head(number: int, spec: LayoutSpec, outcome: StepOutcome | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**`{tensor_name(number)}`**", width="content")
        if outcome is None:
            st.badge("built", color="gray")
        elif outcome.kind == "copy":
            st.badge(f"copy {format_bytes(outcome.copied_bytes)}", icon=":material/content_copy:", color="orange")
        elif outcome.kind == "view":
            st.badge("view", icon=":material/visibility:", color="blue")
        else:
            st.badge("same tensor", icon=":material/equal:", color="gray")
    if number:
        step = spec.steps[number - 1]
        st.markdown(f"`{format_chain((step,))}`", help=OPERATIONS[step.operation].doc)


def _draw_layout(layout: Layout) -> None:
    formats = {
        "contiguous": layout.is_contiguous,
        "channels_last": layout.is_channels_last,
        "channels_last_3d": layout.is_channels_last_3d,
    }
    held = [name for name, holds in formats.items() if holds]
    lines = [
        ("shape", layout.shape),
        ("stride", layout.stride if layout.stride is not None else layout.unavailable),
        ("offset", layout.storage_offset),
        (
            "storage",
            f"S{layout.storage_id}, {format_bytes(layout.storage_bytes)}"
            if layout.storage_bytes is not None
            else "none",
        ),
        ("format", ", ".join(held) or "not contiguous"),
    ]
    st.markdown("  \n".join(f":gray[{name}] `{value}`" for name, value in lines))


def draw_refusal(spec: LayoutSpec, trace: LayoutTrace, why: str = "") -> None:
    """What PyTorch refused, in its own words and then in ours; nothing while the chain went through."""
    error = trace.build_error
    where = "Building x"
    for step, outcome in zip(spec.steps, trace.outcomes, strict=False):
        if outcome.error is not None:
            error, where = outcome.error, f"`{format_chain((step,))}`"
    if error is None:
        return
    with st.container(border=True, key="refusal"):
        draw_said(f"{where} was refused by PyTorch; the chain ends before it.", error)
        if why:
            st.markdown(why)


def draw_attributes(trace: LayoutTrace) -> None:
    """Every attribute of every tensor, a column each."""
    columns = {
        tensor_name(number): [_word(read(layout)) for read in ATTRIBUTES.values()]
        for number, layout in enumerate(trace.layouts)
    }
    table = pd.DataFrame(columns, index=pd.Index(list(ATTRIBUTES), name="attribute"))
    st.dataframe(
        table[(table != "").any(axis=1)],
        width="stretch",
        height="content",
        column_config={"_index": st.column_config.Column(width="medium")},
    )
    if trace.saved is not None:
        written, loaded = (
            format_exact_bytes(size) for size in (trace.saved.file_bytes, trace.saved.loaded_storage_bytes)
        )
        st.caption(
            f"`torch.save` of the last tensor: {written}; loaded again it has offset {trace.saved.loaded_offset} in a "
            f"storage of {loaded}."
        )
    for contents in trace.storages:
        st.caption(f"Storage S{contents.storage_id}: {format_exact_bytes(contents.storage_bytes)}")


def _word(value: object) -> str:
    return "" if value is None else str(value)
