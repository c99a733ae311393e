"""The section about operations: what each makes of each layout, probed now."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.figures.palette import Theme, meaning
from engine.figures.sparse_support import MEANINGS, SYMBOLS, draw_support, outcome_words
from engine.sparse.matrix import LAYOUTS
from engine.sparse.results import Support
from engine.sparse.spec import SupportSpec
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute_beside
from pages.tensors.sparse_layouts_exports import section_downloads

TOPIC, OPERATION = "sparse.topic", "sparse.operation"
EVERY = "every topic"


def draw_operations(spec: SupportSpec, exports: DeltaGenerator) -> None:
    """The matrix of outcomes, a count per layout, and one operation with PyTorch's own words."""
    asked = [SupportSpec(layout=layout, dtype=spec.dtype) for layout in LAYOUTS]
    answered = [compute_beside(one, f"Probing {one.layout.upper()}", slot=f"support.{one.layout}") for one in asked]
    supports = [support for support in answered if support is not None and support.probes]
    for support in answered:
        if support is not None and support.error is not None:
            st.error(f"{support.layout.upper()} of {support.dtype} is refused: {support.error.message}")
    if not supports:
        return
    table = support_table(supports)
    draw_exports(exports, section_downloads(spec, supports[0], table, "operations", "What operations do to layouts"))
    _draw_counts(supports)
    shown = [_of_topic(support, _choose_topic(supports[0])) for support in supports]
    with st.container(height=560, border=True, key="sparse.matrix"):
        st.plotly_chart(draw_support(shown, _theme()), key="sparse.support", config={"displayModeBar": False})
    _draw_one(supports)


def _theme() -> Theme:
    return "dark" if st.context.theme.type == "dark" else "light"


def _draw_counts(supports: list[Support]) -> None:
    legend = " · ".join(f"{SYMBOLS[outcome]} {meaning(key).label}" for outcome, key in MEANINGS.items())
    st.caption(
        f"{len(supports[0].probes)} operations, each run just now on a 6 x 6 matrix of {supports[0].dtype} and "
        f"compared "
        f"with the same operation on the dense matrix. {legend}"
    )
    counts = [Counter(probe.outcome for probe in support.probes) for support in supports]
    columns = {meaning(key).label: [count[outcome] for count in counts] for outcome, key in MEANINGS.items()}
    st.dataframe(
        pd.DataFrame({"layout": [support.layout.upper() for support in supports]} | columns),
        hide_index=True,
        width="stretch",
    )


def _choose_topic(support: Support) -> str:
    topics = tuple(dict.fromkeys(probe.topic for probe in support.probes))
    return st.selectbox("Show", (EVERY, *topics), key=TOPIC, bind="query-params", persist_state="session")


def _of_topic(support: Support, topic: str) -> Support:
    kept = tuple(probe for probe in support.probes if topic in (EVERY, probe.topic))
    return Support(layout=support.layout, dtype=support.dtype, probes=kept or support.probes)


def _draw_one(supports: list[Support]) -> None:
    names = [probe.operation for probe in supports[0].probes]
    chosen = st.selectbox("Operation", names, key=OPERATION, bind="query-params", persist_state="session")
    for support in supports:
        probe = next(probe for probe in support.probes if probe.operation == chosen)
        label = meaning(MEANINGS[probe.outcome]).label
        st.markdown(f"**{support.layout.upper()}** {SYMBOLS[probe.outcome]} {label}")
        words = probe.error.message if probe.error is not None else outcome_words(probe)
        st.code(words if len(words) < 1500 else f"{words[:1500]} …", language=None, wrap_lines=True)


def support_table(supports: list[Support]) -> pd.DataFrame:
    """One row per operation, its outcome in words per layout."""
    first = supports[0].probes
    columns = {support.layout.upper(): [outcome_words(probe) for probe in support.probes] for support in supports}
    names = {"topic": [probe.topic for probe in first], "operation": [probe.operation for probe in first]}
    return pd.DataFrame(names | columns)
