"""Both sides over sizes, with the crossover."""

from __future__ import annotations

import msgspec
import streamlit as st

from engine.figures.timing_chart import sweep_chart
from engine.timing.results import TimingSweep
from engine.timing.spec import TimingSpec, TimingSweepSpec
from engine.timing.variant import StepVariant
from pages.shared.asked import asked
from pages.shared.fields import draw_field, field_value
from pages.shared.jobs import compute
from pages.shared.theme import shown_theme

FIELDS = ("grow", "smallest", "largest", "points")
WAITING_HEIGHT = 420


def draw_sweep(spec: TimingSpec) -> None:
    """From where to where, a button, the lines with their crossover."""
    is_model = isinstance(spec.a, StepVariant)
    for column, name in zip(st.columns(4, gap="small"), FIELDS, strict=True):
        with column:
            reason = "The size of a model's step is its batch" if is_model and name == "grow" else ""
            draw_field(TimingSweepSpec, name, f"timing.sweep.{name}", reason=reason)
    try:
        sweep = sweep_spec(spec)
    except (ValueError, msgspec.ValidationError) as error:
        st.error(str(error), icon=":material/tune:")
        return
    words = f"A and B at {len(sweep.sizes())} sizes, {sweep.rounds} rounds each."
    if asked("timing.swept", sweep, "Measure the sweep", words):
        _draw_swept(compute(sweep, slot="timing.sweep", height=WAITING_HEIGHT))


def sweep_spec(spec: TimingSpec) -> TimingSweepSpec:
    """The sweep of the same two sides."""
    fields = {name: field_value(TimingSweepSpec, name, f"timing.sweep.{name}") for name in FIELDS}
    return TimingSweepSpec(a=spec.a, b=spec.b, seed=spec.seed, **fields)


def _draw_swept(found: TimingSweep) -> None:
    if not found.sizes:
        st.info("No size was left to measure.")
    else:
        chart = sweep_chart(found.series, x_title=found.size_is, crossovers=found.crossovers, theme=shown_theme())
        st.plotly_chart(chart, key="timing.sweep.chart", config={"displayModeBar": False})
        pairs = zip(found.sizes, found.verdicts, strict=True)
        verdicts = [f"{size}: {name or 'no difference shown'}" for size, name in pairs]
        st.caption("Faster at each size: " + "; ".join(verdicts) + ".")
        if not found.crossovers:
            st.caption("A and B do not cross between these sizes.")
    for note in found.notes:
        st.caption(note)
