"""The classic picture: torchviz's own DOT, drawn in the browser."""

from __future__ import annotations

import streamlit as st

from engine.graph.spec import ClassicSpec
from engine.models.spec import ModelSpec
from pages.shared.bound import bind
from pages.shared.jobs import compute


def draw_classic(model: ModelSpec) -> None:
    """torchviz.make_dot of the same model, with the cautions that belong to it."""
    with st.container(horizontal=True):
        attributes = st.toggle("show_attrs", **bind("show_attrs"))
        saved = st.toggle("show_saved", **bind("show_saved"))
    classic = compute(ClassicSpec(model=model, show_attrs=attributes, show_saved=saved), slot="classic")
    if classic.cautions:
        st.caption("  \n".join(f":material/warning: {caution}" for caution in classic.cautions))
    if classic.error:
        st.error(f"**{classic.error.type}** during {classic.error.stage}")
        st.code(classic.error.message, language=None)
    if classic.dot:
        with st.container(height=560, border=True, key="classic"):
            st.graphviz_chart(classic.dot, alt=f"torchviz picture of {classic.nodes} nodes")
    elif not classic.error:
        st.info("Use the interactive view: it folds modules and draws one mark per use of a leaf.")
