"""The section about operations: what each makes of each layout, probed now."""

from __future__ import annotations

from collections import Counter

import msgspec
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.figures.palette import meaning
from engine.figures.sparse_support import MEANINGS, SYMBOLS, draw_support, outcome_words
from engine.sparse.results import Support, Supports
from engine.sparse.spec import SupportSpec
from pages.shared.bound import bind, none_but
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.shared.theme import shown_theme
from pages.tensors.sparse_layouts_exports import section_downloads

TOPIC, OPERATION = "sparse.topic", "sparse.operation"
EVERY = "every topic"
MOST_CHARACTERS = 2000
"""Of an error: PyTorch lists every backend it knows."""


def draw_operations(spec: SupportSpec, exports: DeltaGenerator) -> None:
    """The matrix of outcomes, a count per layout, and one operation with PyTorch's own words."""
    found = _probed(spec, "Probing")
    pinned = pinned_spec(SupportSpec)
    before = _probed(pinned, "A,") if pinned else None
    supports = [support for support in found.supports if support.probes]
    for support in found.supports:
        if support.error is not None:
            st.error(f"{support.layout.upper()} of {support.dtype} is refused: {support.error.message}")
    if not supports:
        return
    table = support_table(supports)
    draw_exports(exports, section_downloads(spec, found, table, "operations", "What operations do to layouts"))
    st.caption(_legend(supports[0]))
    topic = _choose_topic(supports[0])
    shown = [_of_topic(support, topic) for support in supports]
    with st.container(height=520, border=True, key="sparse.matrix"):
        st.plotly_chart(draw_support(shown, shown_theme()), key="sparse.support", config={"displayModeBar": False})
    draw_key_numbers(support_numbers(found), support_numbers(before) if before else None)
    _draw_one(supports)
    st.markdown("**How often each came back**")
    st.dataframe(counts_table(supports), hide_index=True, width="stretch")


def _probed(spec: SupportSpec, what: str) -> Supports:
    """One job per layout, so that a crash costs the answers of that layout only."""
    asked = [msgspec.structs.replace(spec, layouts=(layout,)) for layout in spec.layouts]
    answered = [
        compute_beside(one, f"{what} {one.layouts[0].upper()}", slot=f"{what}.{one.layouts[0]}") for one in asked
    ]
    return Supports(supports=tuple(support for answer in answered if answer for support in answer.supports))


def support_numbers(found: Supports) -> tuple[KeyNumber, ...]:
    """Per layout, how many of the operations were carried out."""
    return tuple(
        KeyNumber(
            f"{support.layout.upper()} works",
            sum(probe.outcome != "refused" for probe in support.probes) if support.probes else None,
            "count",
            f"{len(support.probes)} operations, each run: those that raised no error",
            missing="refused",
        )
        for support in found.supports
    )


def _legend(support: Support) -> str:
    legend = " · ".join(f"{SYMBOLS[outcome]} {meaning(key).label}" for outcome, key in MEANINGS.items())
    return (
        f"{len(support.probes)} operations, each run just now on a 6 x 6 matrix of {support.dtype} and compared with "
        f"the same operation on the dense matrix. {legend}"
    )


def counts_table(supports: list[Support]) -> pd.DataFrame:
    """One row per layout, one column per outcome."""
    counts = [Counter(probe.outcome for probe in support.probes) for support in supports]
    columns = {meaning(key).label: [count[outcome] for count in counts] for outcome, key in MEANINGS.items()}
    return pd.DataFrame({"layout": [support.layout.upper() for support in supports]} | columns)


def _choose_topic(support: Support) -> str:
    topics = tuple(dict.fromkeys(probe.topic for probe in support.probes))
    return str(st.selectbox("Show", (EVERY, *topics), **bind(TOPIC, why=none_but((EVERY, *topics)))))


def _of_topic(support: Support, topic: str) -> Support:
    kept = tuple(probe for probe in support.probes if topic in (EVERY, probe.topic))
    return Support(layout=support.layout, dtype=support.dtype, probes=kept or support.probes)


def _draw_one(supports: list[Support]) -> None:
    names = [probe.operation for probe in supports[0].probes]
    chosen = st.selectbox("Operation", names, **bind(OPERATION, why=none_but(names)))
    found = [next(probe for probe in support.probes if probe.operation == chosen) for support in supports]
    names = [support.layout.upper() for support in supports]
    words = [f"{SYMBOLS[probe.outcome]} {outcome_words(probe)}" for probe in found]
    st.dataframe(
        pd.DataFrame({"layout": names, "outcome": words}),
        hide_index=True,
        width="stretch",
        column_config={"layout": st.column_config.TextColumn(width=70)},
    )
    errors = {name: probe.error for name, probe in zip(names, found, strict=True) if probe.error is not None}
    if errors:
        with st.expander("PyTorch's full words", key="sparse.words"):
            for name, error in errors.items():
                st.caption(f"{name}: {error.type}")
                st.code(error.message[:MOST_CHARACTERS], language=None, wrap_lines=True)


def support_table(supports: list[Support]) -> pd.DataFrame:
    """One row per operation, its outcome in words per layout."""
    first = supports[0].probes
    columns = {support.layout.upper(): [outcome_words(probe) for probe in support.probes] for support in supports}
    names = {"topic": [probe.topic for probe in first], "operation": [probe.operation for probe in first]}
    return pd.DataFrame(names | columns)
