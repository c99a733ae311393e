"""The section about embedding gradients: raw and coalesced entries, bytes, and which optimizers take them."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.figures.cells import encode_cells
from engine.figures.sparse_strips import embedding_scene
from engine.figures.units import format_significant
from engine.sparse.results import EmbeddingGrad, OptimizerTrial
from engine.sparse.spec import EmbeddingGradSpec
from pages.shared.cells_component import show_cells
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.tensors.sparse_layouts_exports import section_downloads

LINES_OF_WORDS = 72
"""Pixels of a row whose text wraps."""


def draw_embedding(spec: EmbeddingGradSpec, exports: DeltaGenerator) -> None:
    """Lookups linked to the rows they add up into, bytes beside the dense gradient, optimizers tried."""
    found = compute(spec)
    pinned = pinned_spec(EmbeddingGradSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned else None
    scene, table = embedding_scene(found), optimizer_table(found)
    title = "Gradient of an embedding with sparse=True"
    draw_exports(exports, section_downloads(spec, found, table, "embedding", title, scene))
    show_cells(encode_cells(scene), key="sparse.embedding.cells", height=270)
    shown = len(found.raw_indices)
    if shown < found.nnz:
        st.caption(f"The first {shown} of {found.nnz} lookups are drawn.")
    draw_key_numbers(embedding_numbers(found), embedding_numbers(before) if before else None)
    st.markdown(_summary(found))
    st.markdown("**Two steps of every optimizer with this gradient**")
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height="content",
        row_height=LINES_OF_WORDS,
        column_config={
            "optimizer": st.column_config.TextColumn(width=150),
            "sparse gradient": st.column_config.TextColumn(width=115),
            "rows changed": st.column_config.TextColumn(width=110),
            "largest difference": st.column_config.TextColumn(
                width=160,
                help="From the same optimizer with the dense gradient, largest absolute difference of any weight",
            ),
        },
    )


def _summary(found: EmbeddingGrad) -> str:
    share = found.sparse_bytes / found.dense_bytes
    same = "equals" if found.equals_dense else "does not equal"
    return (
        f"`weight.grad.layout` is `{found.layout}` and `is_coalesced()` is `{found.is_coalesced}`: one entry per "
        f"lookup, "
        f"rows that were looked up twice are there twice. Added up it {same} the dense gradient. It takes "
        f"{format_significant(share)}× the bytes of the dense one, in which {found.dense_rows_of_zeros} rows are zero."
    )


def embedding_numbers(found: EmbeddingGrad) -> tuple[KeyNumber, ...]:
    """nnz raw and coalesced, bytes of both and of the dense gradient."""
    return (
        KeyNumber("nnz", found.nnz, "count", "`weight.grad._nnz()`: one per lookup"),
        KeyNumber("nnz coalesced", found.nnz_coalesced, "count", "`weight.grad.coalesce()._nnz()`: one per row"),
        KeyNumber("Sparse bytes", found.sparse_bytes, "bytes", "`nbytes` of the raw indices and values"),
        KeyNumber("Merged bytes", found.coalesced_bytes, "bytes", "`nbytes` of both arrays after `coalesce()`"),
        KeyNumber("Dense bytes", found.dense_bytes, "bytes", "`weight.grad.nbytes` with `sparse=False`"),
        KeyNumber(
            "Accepted by",
            sum(trial.accepted for trial in found.optimizers),
            "count",
            f"two steps of each of {len(found.optimizers)} optimizers of `torch.optim`",
        ),
    )


def optimizer_table(found: EmbeddingGrad) -> pd.DataFrame:
    """One row per optimizer, those that accept first."""
    trials = sorted(found.optimizers, key=lambda trial: not trial.accepted)
    return pd.DataFrame(
        {
            "optimizer": [trial.name for trial in trials],
            "sparse gradient": ["accepted" if trial.accepted else "refused" for trial in trials],
            "rows changed": ["" if trial.rows_changed is None else str(trial.rows_changed) for trial in trials],
            "largest difference": [_difference(trial) for trial in trials],
            "error": [trial.error.message.split("\n")[0] if trial.error else "" for trial in trials],
        }
    )


def _difference(trial: OptimizerTrial) -> str:
    if not trial.accepted:
        return ""
    return "refuses the dense one" if trial.difference is None else format_significant(trial.difference)
