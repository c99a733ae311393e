"""The controls of the sparse page: which section is open, and the spec that its controls describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import streamlit as st

from engine.runner.contract import Spec
from engine.sparse.entries import MAXIMUM_TEXT, entries_text, parse_entries
from engine.sparse.matrix import TWO_IN_ONE_PLACE, LayoutName, Matrix
from engine.sparse.spec import (
    EmbeddingGradSpec,
    InvariantsSpec,
    MatmulTimingSpec,
    SparseSpec,
    SupportSpec,
    WeightsSpec,
)
from pages.shared.bound import bind, none_but
from pages.shared.fields import common_arguments, draw_field, draw_ints, field_value, ints_value

SECTION, LAYOUT, ENTRIES = "sparse.section", "sparse.layout", "sparse.entries"
CORRUPTION = "sparse.corruption"
INDICES, TIMED = "sparse.embedding.indices", "sparse.timing.layouts"
SECTIONS = ("Layout", "Coalesce", "Invariants", "Operations", "Bytes", "Timing", "Embedding gradients")
LAYOUT_CHOICES = ("COO", "CSR", "CSC", "BSR", "BSC", "side by side")
TIMED_CHOICES = ("CSR", "COO", "CSC", "BSR")
OF_MATRIX = ("Layout", "Coalesce", "Invariants")
FIELDS_OF_PATTERN = {
    "random": ("density", "seed"),
    "blocks": ("density", "seed"),
    "power-law rows": ("density", "seed"),
    "duplicates": ("density", "seed"),
    "banded": ("band",),
}
TIMING_FIELDS = ("size", "right_columns", "dtype", "block", "threads", "rounds", "seed")
WEIGHTS_FIELDS = ("rows", "columns", "dtype", "index_dtype", "block", "clustered", "seed")
EMBEDDING_FIELDS = ("num_embeddings", "embedding_dim", "lookups", "batch", "seed")


def current_section() -> str:
    """The open section."""
    return st.session_state.get(SECTION) or SECTIONS[0]


def draw_sections() -> None:
    """Choose the section, of which only the open one computes, and where it needs one, the layout.

    Drawn before the spec is built: a link's value is there only once its widget is drawn.
    """
    st.segmented_control(
        "Section",
        SECTIONS,
        default=SECTIONS[0],
        required=True,
        label_visibility="collapsed",
        **bind(SECTION, why=none_but(SECTIONS)),
    )
    if current_section() == "Layout":
        _draw_layout_choice(LAYOUT_CHOICES)
    elif current_section() == "Invariants":
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _draw_layout_choice(LAYOUT_CHOICES[:-1])
            with st.container(width=320):
                draw_field(InvariantsSpec, "corruption", CORRUPTION, label="Break")


def chosen_layout() -> LayoutName:
    """The layout of the segmented control; CSR while all are shown side by side."""
    name = _layout_choice().lower()
    return "csr" if name == LAYOUT_CHOICES[-1] else name  # type: ignore[return-value]


def shown_layouts() -> tuple[str, ...]:
    """The layouts the picture has."""
    return ("coo", "csr", "csc", "bsr") if _layout_choice() == LAYOUT_CHOICES[-1] else (chosen_layout(),)


def _layout_choice() -> str:
    return st.session_state.get(LAYOUT) or "CSR"


def _draw_layout_choice(choices: tuple[str, ...]) -> None:
    st.segmented_control(
        "Layout",
        choices,
        default="CSR",
        required=True,
        label_visibility="collapsed",
        **bind(LAYOUT, why=none_but(choices)),
    )


def current_spec() -> Spec[Any]:
    """What the open section asks; ValueError in words where its controls contradict each other."""
    return _BUILDERS[current_section()]()


def _matrix() -> Matrix:
    fields = {n: field_value(Matrix, n, f"sparse.{n}") for n in Matrix.__struct_fields__ if n != "entries"}
    if fields["pattern"] == "typed entries":
        fields["entries"] = parse_entries(st.session_state.get(ENTRIES, entries_text(TWO_IN_ONE_PLACE)))
    return Matrix(**fields)


def _fields(kind: type[msgspec.Struct], names: tuple[str, ...], prefix: str) -> dict[str, Any]:
    return {name: field_value(kind, name, f"{prefix}.{name}") for name in names}


def _timing() -> MatmulTimingSpec:
    chosen = st.session_state.get(TIMED, list(TIMED_CHOICES[:2]))
    layouts = tuple(name.lower() for name in chosen)
    return MatmulTimingSpec(layouts=layouts, **_fields(MatmulTimingSpec, TIMING_FIELDS, "sparse.timing"))


def _embedding() -> EmbeddingGradSpec:
    fields = _fields(EmbeddingGradSpec, EMBEDDING_FIELDS, "sparse.embedding")
    if fields["lookups"] == "typed":
        fields["indices"] = ints_value(INDICES, EmbeddingGradSpec().indices)
    return EmbeddingGradSpec(**fields)


_BUILDERS: dict[str, Callable[[], Spec[Any]]] = {
    "Layout": lambda: SparseSpec(matrix=_matrix()),
    "Coalesce": lambda: SparseSpec(matrix=_matrix()),
    "Invariants": lambda: InvariantsSpec(
        matrix=_matrix(),
        layout=chosen_layout(),
        corruption=field_value(InvariantsSpec, "corruption", CORRUPTION),
    ),
    "Operations": lambda: SupportSpec(dtype=field_value(SupportSpec, "dtype", "sparse.support.dtype")),
    "Bytes": lambda: WeightsSpec(**_fields(WeightsSpec, WEIGHTS_FIELDS, "sparse.weights")),
    "Timing": _timing,
    "Embedding gradients": _embedding,
}


def draw_controls() -> None:
    """The controls of the open section."""
    section = current_section()
    if section in OF_MATRIX:
        _draw_matrix()
    elif section == "Operations":
        draw_field(SupportSpec, "dtype", "sparse.support.dtype", label="dtype")
    elif section == "Bytes":
        _draw_fields(WeightsSpec, WEIGHTS_FIELDS, "sparse.weights")
    elif section == "Timing":
        _draw_timing()
    else:
        _draw_embedding()


def _draw_fields(kind: type[msgspec.Struct], names: tuple[str, ...], prefix: str) -> None:
    for name in names:
        draw_field(kind, name, f"{prefix}.{name}")


def _draw_matrix() -> None:
    draw_field(Matrix, "pattern", "sparse.pattern")
    pattern = field_value(Matrix, "pattern", "sparse.pattern")
    for name in ("rows", "columns"):
        draw_field(Matrix, name, f"sparse.{name}")
    if pattern == "typed entries":
        help_text = "One entry a line: row, column, value, counted from 0. The same place may occur again."
        st.text_area(
            "Entries",
            value=entries_text(TWO_IN_ONE_PLACE),
            height=132,
            max_chars=MAXIMUM_TEXT,
            **common_arguments(ENTRIES, help_text),
        )
    _draw_fields(Matrix, FIELDS_OF_PATTERN.get(pattern, ()), "sparse")
    draw_field(Matrix, "dtype", "sparse.dtype", label="dtype")
    with st.expander("Blocks and indices", key="sparse.more", expanded=chosen_layout() in ("bsr", "bsc")):
        _draw_fields(Matrix, ("block_rows", "block_columns", "index_dtype"), "sparse")


def _draw_timing() -> None:
    st.pills(
        "Layouts",
        TIMED_CHOICES,
        selection_mode="multi",
        default=list(TIMED_CHOICES[:2]),
        **common_arguments(TIMED, "Each is timed against dense in the same rounds"),
    )
    _draw_fields(MatmulTimingSpec, TIMING_FIELDS[:3], "sparse.timing")
    with st.expander("How it is measured", key="sparse.timing.more"):
        _draw_fields(MatmulTimingSpec, TIMING_FIELDS[3:], "sparse.timing")


def _draw_embedding() -> None:
    _draw_fields(EmbeddingGradSpec, ("num_embeddings", "embedding_dim", "lookups"), "sparse.embedding")
    if field_value(EmbeddingGradSpec, "lookups", "sparse.embedding.lookups") == "typed":
        draw_ints("indices", EmbeddingGradSpec().indices, INDICES, help="Rows that are looked up, as in 1, 3, 1")
    else:
        _draw_fields(EmbeddingGradSpec, ("batch", "seed"), "sparse.embedding")
