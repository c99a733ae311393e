"""Sparse layouts: Which arrays does a sparse tensor keep, and at what density does it win?

icon: scatter_plot
controls: own
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.frame import draw_toolbar, spec_or_stop
from pages.tensors.sparse_layouts_coalesce import draw_coalesce
from pages.tensors.sparse_layouts_controls import current_section, current_spec, draw_controls, draw_sections
from pages.tensors.sparse_layouts_embedding import draw_embedding
from pages.tensors.sparse_layouts_invariants import draw_invariants
from pages.tensors.sparse_layouts_layout import draw_layout
from pages.tensors.sparse_layouts_measured import draw_bytes, draw_times
from pages.tensors.sparse_layouts_operations import draw_operations
from pages.tensors.sparse_layouts_presets import PRESETS

DRAW: dict[str, Callable[..., Any]] = {
    "Layout": draw_layout,
    "Coalesce": draw_coalesce,
    "Invariants": draw_invariants,
    "Operations": draw_operations,
    "Bytes": draw_bytes,
    "Timing": draw_times,
    "Embedding gradients": draw_embedding,
}

toolbar, choices = st.container(), st.container(gap="small")
with choices:
    draw_sections()
with st.sidebar:
    draw_controls()
spec = spec_or_stop(current_spec, PRESETS)
with toolbar:
    exports = draw_toolbar(spec, PRESETS)
DRAW[current_section()](spec, exports)
