"""Details of the operators page that are measured when asked for: over sizes, and with torch.compile."""

from __future__ import annotations

import msgspec
import streamlit as st

from engine.figures.operator_ladder import PLOT_CONFIG, ladder_chart
from engine.figures.timing_chart import sweep_chart
from engine.figures.units import format_time
from engine.operator_ladder.catalogue import colour_order
from engine.operator_ladder.results import OperatorSweep
from engine.operator_ladder.row import INDUCTOR
from engine.operator_ladder.spec import CompiledOperatorLadderSpec, OperatorLadderSpec, OperatorSweepSpec
from pages.shared.asked import asked
from pages.shared.fields import common_arguments, draw_field, field_value
from pages.shared.jobs import compute
from pages.shared.theme import shown_theme

WAITING_HEIGHT = 360
BELOW = {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0}
"""A legend away from the toolbar, which covers the end of one above the picture."""
SWEPT = ("smallest", "largest", "points")
SHARED = ("operator", "dtype", "work", "threads", "seed")


def draw_sweep(spec: OperatorLadderSpec) -> None:
    """The controls of a sweep, the button, then the lines."""
    row = spec.row
    columns = st.columns(5, gap="small")
    for column, name in zip(columns[:3], SWEPT, strict=True):
        with column:
            draw_field(OperatorSweepSpec, name, f"operators.sweep.{name}")
    defaults = (row.rungs[min(1, len(row.rungs) - 1)], row.rungs[-1])
    for column, name, default in zip(columns[3:], ("first", "second"), defaults, strict=True):
        with column:
            key = f"operators.{row.operator}.{name}"
            st.selectbox(name, row.rungs, index=row.rungs.index(default), **common_arguments(key, "of the crossover"))
    try:
        sweep = OperatorSweepSpec(
            **{name: field_value(OperatorSweepSpec, name, f"operators.sweep.{name}") for name in SWEPT},
            **{name: getattr(spec, name) for name in SHARED},
            first=st.session_state.get(f"operators.{row.operator}.first", defaults[0]),
            second=st.session_state.get(f"operators.{row.operator}.second", defaults[1]),
            tensors=min(spec.rows, 1000) if row.is_step else 1,
        )
    except (ValueError, msgspec.ValidationError) as error:
        st.error(str(error), icon=":material/tune:")
        return
    words = (
        f"Every rung at {len(sweep.sizes())} sizes, {sweep_words(spec)}; what gets too slow ends early, and says so."
    )
    if asked("operators.swept", sweep, "Measure the sweep", words):
        _draw_swept(sweep, compute(sweep, slot="operators.sweep", height=WAITING_HEIGHT))


def sweep_words(spec: OperatorLadderSpec) -> str:
    """What a size is."""
    if spec.row.is_step:
        return f"{min(spec.rows, 1000)} tensors of so many elements"
    return "rows = columns = inner" if spec.row.sizes[2] else "rows = columns"


def _draw_swept(spec: OperatorSweepSpec, sweep: OperatorSweep) -> None:
    title = "elements of each tensor" if spec.row.is_step else "rows and columns"
    chart = sweep_chart(
        sweep.series, x_title=title, crossovers=sweep.crossovers, theme=shown_theme(), order=colour_order(spec.row)
    )
    chart.update_layout(legend=BELOW, margin={"b": 96})
    st.plotly_chart(chart, key="operators.sweep.chart", config=PLOT_CONFIG)
    if not sweep.crossovers:
        st.caption(f"{spec.first} and {spec.second} do not cross between these sizes.")
    for note in sweep.notes:
        st.caption(note)


def draw_compiled(spec: OperatorLadderSpec) -> None:
    """torch.compile in the same rounds, its cold start told apart."""
    compiled = CompiledOperatorLadderSpec(**{name: getattr(spec, name) for name in spec.__struct_fields__})
    words = (
        f"Compiles `{spec.row.way(spec.row.compiled_from).code}` with a C++ compiler: a cold start of 10 to 60 s, told "
        f"apart from the steady time; then every rung again in the same rounds."
    )
    if not asked("operators.compiled", compiled, "Measure torch.compile too", words):
        return
    ladder = compute(compiled, slot="operators.compiled", height=WAITING_HEIGHT)
    found = next((rung for rung in ladder.rungs if rung.name == INDUCTOR), None)
    if found is None or found.seconds is None:
        st.warning(f"torch.compile was not measured. {found.reason if found else ''}")
    else:
        cold = "" if found.cold_s is None else f", after a first call of **{format_time(found.cold_s)}**, in no ratio"
        st.markdown(f"Compiled: **{format_time(found.seconds)}** per call{cold}.")
    if ladder.comparison is not None:
        rungs, order = (*spec.row.rungs, INDUCTOR), colour_order(spec.row)
        chart = ladder_chart(ladder.comparison, shown_theme(), rungs=rungs, order=order, bounds_s=None)
        st.plotly_chart(chart, key="operators.compiled.chart", config=PLOT_CONFIG)
