"""The section about one matrix: its arrays in every layout."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine import run
from engine.figures.cells import CellScene, encode_cells
from engine.figures.sparse_cells import layout_scene
from engine.figures.units import format_bytes, format_significant
from engine.sparse.results import LayoutArrays, SparseTrace
from engine.sparse.spec import SparseSpec
from pages.shared.cells_component import show_cells
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.tensors.sparse_layouts_controls import chosen_layout, shown_layouts
from pages.tensors.sparse_layouts_exports import layout_downloads

HOW_TO_READ = (
    "**COO** keeps a row index, a column index and a value per entry. **CSR** keeps the entries row by row, so the row "
    "index shrinks to one pointer per row: row i owns entries `crow_indices[i]` up to `crow_indices[i + 1]`. **CSC** "
    "is the same by columns. **BSR** and **BSC** keep whole blocks: one index per block, and every cell of it, zeros "
    "included. Point at a dense cell to see where it is kept, at a pointer to see the row that starts at it."
)


def draw_layout(spec: SparseSpec, exports: DeltaGenerator) -> None:
    """The picture of the chosen layout, its key numbers, all layouts in a table, and what they say when asked."""
    trace = compute(spec)
    pinned = pinned_spec(SparseSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned else None
    draw_exports(exports, layout_downloads(spec, trace, picture(spec, shown_layouts())[0]))
    _draw_refusals(trace)
    draw_picture(spec, shown_layouts())
    best = smallest_label(trace)
    draw_key_numbers(layout_numbers(trace, best), layout_numbers(before, best) if before else None)
    _draw_table(trace)
    _draw_held(trace)
    with st.expander("What a sparse tensor answers when asked like a dense one", key="sparse.facts"):
        st.dataframe(facts_table(trace), hide_index=True, width="stretch")
    _draw_warnings(trace.layout(chosen_layout()))
    with st.expander("How to read this", key="sparse.explanation"):
        st.markdown(HOW_TO_READ)


@st.fragment
def draw_picture(spec: SparseSpec, layouts: tuple[str, ...]) -> None:
    """The linked cells; pointing at one happens in the browser."""
    show_cells(picture(spec, layouts)[1], key="sparse.cells", height=560)


@lru_cache(maxsize=64)
def picture(spec: SparseSpec, layouts: tuple[str, ...]) -> tuple[CellScene, bytes]:
    """The scene of these layouts and the same encoded for the canvas."""
    scene = layout_scene(run(spec), layouts)
    return scene, encode_cells(scene)


def _draw_refusals(trace: SparseTrace) -> None:
    for name in shown_layouts():
        error = trace.layout(name).error
        if error is not None:
            st.error(f"**PyTorch refuses {name.upper()}** · {error.type}", icon=":material/block:")
            st.code(error.message, language=None)


def _draw_warnings(layout: LayoutArrays) -> None:
    for warning in layout.warnings:
        st.caption(f":material/warning: {warning}")


def smallest(trace: SparseTrace) -> LayoutArrays | None:
    """The layout with the fewest bytes, None when all were refused."""
    made = [layout for layout in trace.layouts if layout.error is None]
    return min(made, key=lambda layout: layout.bytes, default=None)


def smallest_label(trace: SparseTrace) -> str:
    """What the key number of the smallest layout is called: A's is called as B's, and their bytes are compared."""
    best = smallest(trace)
    return f"Smallest: {best.layout.upper()}" if best else "Smallest layout"


def layout_numbers(trace: SparseTrace, best_label: str = "Smallest layout") -> tuple[KeyNumber, ...]:
    """Of the chosen layout: entries, density, bytes, and how it stands against dense and the other layouts."""
    layout, best = trace.layout(chosen_layout()), smallest(trace)
    name, cells = layout.layout.upper(), trace.shape[0] * trace.shape[1]
    made = layout.error is None
    density = 100 * trace.nonzeros / cells if cells else None
    against = layout.bytes / trace.dense.bytes if made and trace.dense.bytes else None
    refused = "no cells" if made else "refused"
    read = "`nbytes` of every array, added up"
    entries = f"`_nnz()` of the {name} tensor; blocks in a block layout"
    compared = f"bytes of {name} / bytes of dense; below 1 sparse is smaller"
    best_is = f"{best.layout.upper()}, by the sum of `nbytes` of its arrays" if best else "all layouts: none was made"
    return (
        KeyNumber("nnz", layout.nnz, "count", entries, missing="refused"),
        KeyNumber(
            "Density %", density, "", "`dense.count_nonzero()` / `dense.numel()`, in percent", missing="no cells"
        ),
        KeyNumber(f"{name} bytes", layout.bytes if made else None, "bytes", read, missing="refused"),
        KeyNumber("Dense bytes", trace.dense.bytes, "bytes", "`dense.nbytes`"),
        KeyNumber("Against dense", against, "", compared, missing=refused),
        KeyNumber(best_label, best.bytes if best else None, "bytes", best_is, missing="refused"),
    )


def _draw_table(trace: SparseTrace) -> None:
    best = smallest(trace)
    if best is not None:
        verdict = "smaller than" if best.bytes < trace.dense.bytes else "not smaller than"
        st.markdown(
            f"Smallest here: **{best.layout.upper()}** with {format_bytes(best.bytes)}, {verdict} dense with "
            f"{format_bytes(trace.dense.bytes)}. The section *Bytes* finds the density at which that turns."
        )
    st.dataframe(
        layout_table(trace),
        hide_index=True,
        width="stretch",
        column_config={
            "held bytes": st.column_config.NumberColumn(
                help="Bytes of the storages that the arrays keep alive: more where an array is a view of a larger one"
            ),
            "bytes": st.column_config.NumberColumn(help="`nbytes` of every array, added up"),
            ".nbytes": st.column_config.TextColumn(
                help="What `tensor.nbytes` answers: for compressed layouts the dense tensor's bytes, not the arrays'",
                width="small",
            ),
        },
    )


def layout_table(trace: SparseTrace) -> pd.DataFrame:
    """One row per layout."""
    layouts = trace.layouts
    refused = [layout.error.message.split("\n")[0] if layout.error else "" for layout in layouts]
    return pd.DataFrame(
        {
            "layout": [layout.layout.upper() for layout in layouts],
            "nnz": pd.array([layout.nnz for layout in layouts], dtype="Int64"),
            "stored values": pd.array([_made(layout, layout.stored) for layout in layouts], dtype="Int64"),
            "bytes": pd.array([_made(layout, layout.bytes) for layout in layouts], dtype="Int64"),
            "against dense": [_against(layout, trace.dense.bytes) for layout in layouts],
            "held bytes": pd.array([_made(layout, layout.held_bytes) for layout in layouts], dtype="Int64"),
            ".nbytes": [_nbytes(layout) for layout in layouts],
            "to_dense() equals": [_equals(layout) for layout in layouts],
        }
        | ({"refused": refused} if any(refused) else {})
    )


def _draw_held(trace: SparseTrace) -> None:
    layout = trace.layout(chosen_layout())
    for member in layout.members:
        if member.storage_bytes > member.bytes:
            st.caption(
                f":material/link: `{member.name}()` of {layout.layout.upper()} has {member.bytes} bytes and keeps a "
                f"storage of {member.storage_bytes} bytes alive: the conversion took a view of the COO tensor's array. "
                f"`clone()` lets go of the rest."
            )


def _nbytes(layout: LayoutArrays) -> str:
    return "raises" if ":" in _answer(layout, "nbytes") else _answer(layout, "nbytes")


def _made(layout: LayoutArrays, value: int) -> int | None:
    return None if layout.error else value


def _against(layout: LayoutArrays, dense_bytes: int) -> str:
    return f"{format_significant(layout.bytes / dense_bytes)}×" if layout.error is None and dense_bytes else ""


def _equals(layout: LayoutArrays) -> str:
    if layout.error:
        return ""
    return {True: "yes", False: "no", None: "cannot be converted"}[layout.equals_dense]


def _answer(layout: LayoutArrays, expression: str) -> str:
    fact = next((fact for fact in layout.facts if fact.expression == expression), None)
    if fact is None:
        return ""
    return f"{fact.error.type}: {fact.error.message}" if fact.error else fact.answer


def facts_table(trace: SparseTrace) -> pd.DataFrame:
    """One row per expression, one column per layout: the answer, or the error with its own text."""
    made = [layout for layout in trace.layouts if layout.error is None]
    expressions = [fact.expression for fact in made[0].facts] if made else []
    columns = {layout.layout.upper(): [_answer(layout, e) for e in expressions] for layout in made}
    return pd.DataFrame({"asked": expressions} | columns)
