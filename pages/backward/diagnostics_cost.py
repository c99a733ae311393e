"""What looking for a NaN costs, measured when asked for."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.diagnostics.results import DetectorCost
from engine.diagnostics.spec import DetectorSpec
from engine.figures.timing_samples import rounds_chart
from engine.figures.units import format_significant, format_time
from pages.shared.asked import asked
from pages.shared.fields import draw_field, field_value
from pages.shared.jobs import compute
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

WORDS = "Times one step of this model four ways, in interleaved rounds, in a few seconds."
WAYS = {
    "plain": "no look at all",
    "look at the end": "the loss and one norm over all gradients; a bad step is run again to find the origin",
    "every operation": "what this page does to find an origin: every result of forward and backward",
    "detect_anomaly": "PyTorch's own: a Python traceback per node in forward, a check for NaN per node in backward",
}


def draw_cost(asked_for: DetectorSpec) -> None:
    """A button, then the four ways with their ratio to plain."""
    draw_field(DetectorSpec, "rounds", "diagnose.rounds")
    spec = DetectorSpec(model=asked_for.model, rounds=field_value(DetectorSpec, "rounds", "diagnose.rounds"))
    if asked("diagnose.cost", spec, "Measure", WORDS):
        _draw(compute(spec, slot="diagnose.cost", height=300))


def _draw(found: DetectorCost) -> None:
    if found.error is not None:
        draw_said("The step itself does not run, so there is nothing to time", found.error)
        return
    comparison = found.comparison
    if comparison is None:
        return
    ratios = {ratio.name: ratio for ratio in comparison.ratios}
    rows = []
    for name, seconds in zip(comparison.names, comparison.median_s, strict=True):
        ratio = ratios.get(name)
        band = "" if ratio is None else f"{format_significant(ratio.low)} to {format_significant(ratio.high)}"
        times = "1" if ratio is None else format_significant(ratio.ratio)
        told = "" if ratio is None else "yes" if ratio.shows_a_difference else "no difference shown"
        rows.append((name, format_time(seconds), times, band, told, WAYS[name]))
    columns = ["way", "median per step", "times plain", "95 % band", "differs", "what it looks at"]
    st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, width="stretch")
    st.plotly_chart(
        rounds_chart(comparison, shown_theme()), key="diagnose.cost.chart", config={"displayModeBar": False}
    )
    st.caption(
        f"Thread CPU time of forward, loss and backward; {found.operations} operations below autograd are looked at. "
        f"{' '.join(comparison.notes)}"
    )
