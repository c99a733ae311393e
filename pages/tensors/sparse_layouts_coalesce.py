"""The section about coalesce: which entries share a place, what they add up to, what raw values get wrong."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.figures.cells import encode_cells
from engine.figures.sparse_strips import coalesce_scene
from engine.sparse.results import Coalesce, SparseTrace
from engine.sparse.spec import SparseSpec
from pages.shared.cells_component import show_cells
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.tensors.sparse_layouts_exports import layout_downloads

FEW_ROWS = 6


def draw_coalesce(spec: SparseSpec, exports: DeltaGenerator) -> None:
    """Raw and coalesced entries, which were added up, and what squaring raw values would get wrong."""
    trace = compute(spec)
    coalesce = trace.coalesce
    if coalesce is None:
        error = trace.layout("coo").error
        st.error("**PyTorch refuses this COO tensor**", icon=":material/block:")
        st.code(error.message if error else "", language=None, wrap_lines=True)
        return
    scene = coalesce_scene(trace, coalesce)
    draw_exports(exports, layout_downloads(spec, trace, scene))
    show_cells(encode_cells(scene), key="sparse.coalesce.cells", height=400)
    pinned = pinned_spec(SparseSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned else None
    draw_key_numbers(coalesce_numbers(trace), coalesce_numbers(before) if before else None)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _draw_sums(trace, coalesce)
    with right:
        _draw_traps(coalesce)


def coalesce_numbers(trace: SparseTrace) -> tuple[KeyNumber, ...]:
    """nnz before and after, of `s + s`, and bytes before and after."""
    found = trace.coalesce
    if found is None:
        return ()
    return (
        KeyNumber("nnz before", found.before.nnz, "count", "`s._nnz()`"),
        KeyNumber("nnz after", found.after.nnz, "count", "`s.coalesce()._nnz()`", missing="refused"),
        KeyNumber(
            "nnz of s + s", found.sum_nnz, "count", "`(s + s)._nnz()`: coalesced only if `s` is", missing="refused"
        ),
        KeyNumber("Bytes before", found.before.bytes, "bytes", "`nbytes` of indices and values"),
        KeyNumber(
            "Bytes after",
            None if found.after.error else found.after.bytes,
            "bytes",
            "`nbytes` of indices and values after `coalesce()`",
            missing="refused",
        ),
    )


def _draw_sums(trace: SparseTrace, coalesce: Coalesce) -> None:
    if coalesce.after.error is not None:
        st.error(f"**coalesce() refuses** · {coalesce.after.error.type}", icon=":material/block:")
        st.code(coalesce.after.error.message, language=None, wrap_lines=True)
        return
    table = sums_table(coalesce)
    merged = table[table["entries"] > 1]
    if merged.empty:
        st.info("No two entries share a place, so there is nothing to add up.", icon=":material/info:")
        st.button("Use the pattern with duplicates", key="sparse.duplicate", on_click=_use_duplicates)
    st.markdown("**What was added up**")
    shown = merged if not merged.empty else table
    height: int | Literal["content"] = 260 if len(shown) > FEW_ROWS else "content"
    st.dataframe(shown, hide_index=True, width="stretch", height=height)


def _use_duplicates() -> None:
    st.session_state["sparse.pattern"] = "duplicates"


def sums_table(coalesce: Coalesce) -> pd.DataFrame:
    """One row per entry after coalesce: where it is, what was added up, and its square from both ways."""
    indices, values = coalesce.after.members
    nnz = indices.shape[1]
    raw = coalesce.before.members[1].texts
    columns = {
        "row": indices.numbers[:nnz],
        "column": indices.numbers[nnz:],
        "entries": [len(group) for group in coalesce.summed],
        "raw values": [" + ".join(raw[k] for k in group) for group in coalesce.summed],
        "value": values.texts,
    }
    if coalesce.square_error is None:
        columns["s * s"] = coalesce.square
        columns["raw values squared"] = [
            " and ".join(coalesce.square_of_values[k] for k in group) for group in coalesce.summed
        ]
    return pd.DataFrame(columns)


def _draw_traps(coalesce: Coalesce) -> None:
    st.markdown("**Before `coalesce()`**")
    if coalesce.values_error is not None:
        st.caption("`s.values()` says")
        st.code(coalesce.values_error.message, language=None, wrap_lines=True)
    else:
        st.caption("`s.values()` answers: this tensor knows that it is coalesced.")
    for what, error in (("s * s", coalesce.square_error), ("s + s", coalesce.sum_error)):
        if error is not None:
            st.caption(f"`{what}` says")
            st.code(error.message, language=None, wrap_lines=True)
    if coalesce.sum_nnz is not None:
        st.caption(
            f"`s + s` has {coalesce.sum_nnz} entries where `s` has {coalesce.before.nnz}: what shares a place still "
            f"does. A function that does not keep sums, as the square, must not be applied to raw values: (3 + 4)² "
            f"is 49, 3² + 4² is 25."
        )
