"""The section on loops and vectors: every way to write a computation, measured against each other."""

from __future__ import annotations

from typing import get_args

import msgspec
import pandas as pd
import streamlit as st

from engine.figures.ladder import SHORT_COLUMNS, rebased, rung_notes, short_rows
from engine.figures.timing_chart import ratio_chart, sweep_chart
from engine.figures.units import format_shape, format_time
from engine.script.vectorisation import way_source
from engine.timing.spec import Comparison
from engine.vectorisation.spec import (
    NOT_WRITTEN,
    CompiledLadderSpec,
    Ladder,
    LadderSpec,
    PlainRung,
    RungName,
    Sweep,
    SweepSpec,
)
from pages.shared.asked import asked
from pages.shared.fields import common_arguments
from pages.shared.jobs import compute
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.theme import shown_theme
from pages.tensors.broadcasting_ladder_controls import draw_sweep_controls, sweep_spec
from pages.tensors.broadcasting_numbers import ladder_numbers

BASELINE = "ladder.baseline"
COMPILED, SWEPT = "ladder.compiled", "ladder.swept"
WAITING_HEIGHT = 360
TABS = ("Every rung", "Code", "torch.compile", "Size sweep", "How to read this")
HOW_TO_READ = (
    "Every rung computes the same. The **element loop** calls an operator per number, the **row loop** per row; "
    "**broadcast** writes the products out and sums them, **einsum** and **matmul** hand the sum to a matrix kernel, "
    "**torch.compile** fuses the broadcast form. Samples are taken in interleaved rounds; a ratio is the median of "
    "paired samples of the same round with its 95 % band, on thread CPU time with one thread, wall time with more. "
    "When the band holds 1, no difference is shown. Errors are against the same computation in float64: another order "
    "of summation rounds differently, and neither is wrong."
)


def draw_ladder(spec: LadderSpec, ladder: Ladder, before: Ladder | None) -> None:
    """Shapes, ratios with bands, key numbers, and tabs for the rest."""
    inputs = ", ".join(f"`{name}` {format_shape(shape)}" for name, shape in ladder.input_shapes)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{inputs} → {format_shape(ladder.output_shape)}, `{spec.dtype}`", width="content")
        baseline = _draw_baseline(ladder)
    if ladder.comparison is not None:
        _draw_chart(rebased(ladder.comparison, baseline), "ladder.chart")
    draw_key_numbers(ladder_numbers(ladder), ladder_numbers(before) if before else None)
    tabs = st.tabs(TABS, key="ladder.details", on_change="rerun")
    with tabs[0]:
        if tabs[0].open:
            _draw_rungs(ladder, baseline)
    with tabs[1]:
        if tabs[1].open:
            _draw_code(spec)
    with tabs[2]:
        if tabs[2].open:
            _draw_compiled(spec, baseline)
    with tabs[3]:
        if tabs[3].open:
            _draw_sweep(spec)
    with tabs[4]:
        if tabs[4].open:
            st.markdown(HOW_TO_READ)


def _draw_baseline(ladder: Ladder) -> str:
    """The rung every ratio is against: what was measured first, unless another is chosen."""
    st.markdown("ratios against", width="content")
    chosen = st.selectbox(
        "Baseline",
        get_args(PlainRung),
        index=1,
        label_visibility="collapsed",
        width=200,
        **common_arguments(BASELINE, "Every ratio is the time of a rung / the time of this one"),
    )
    measured = ladder.comparison.names if ladder.comparison else ()
    if chosen not in measured and measured:
        st.caption(f"{chosen} was not measured, so ratios are against {measured[0]}.", width="content")
        return measured[0]
    return str(chosen)


def _draw_chart(comparison: Comparison, key: str) -> None:
    st.plotly_chart(
        ratio_chart(comparison, shown_theme(), order=get_args(RungName)), key=key, config={"displayModeBar": False}
    )


def _draw_rungs(ladder: Ladder, baseline: str) -> None:
    table = pd.DataFrame(short_rows(ladder, baseline), columns=list(SHORT_COLUMNS))
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        column_config={
            "time per call": st.column_config.TextColumn(help="median; fastest and slowest sample in brackets"),
            "against baseline": st.column_config.TextColumn(help="median of paired ratios; 95 % band in brackets"),
            "abs error": st.column_config.TextColumn(help="largest distance to the same computation in float64"),
            "rel error": st.column_config.TextColumn(help="largest distance, relative to the float64 value"),
            "nodes": st.column_config.TextColumn(help="autograd nodes behind the result when inputs require grad"),
            "extra bytes": st.column_config.TextColumn(help="the most allocated at once beyond the output"),
        },
    )
    for note in rung_notes(ladder):
        st.caption(note)
    by_formula: dict[str, list[str]] = {}
    for rung in ladder.rungs:
        if rung.flops_formula:
            by_formula.setdefault(rung.flops_formula, []).append(rung.name)
    listed = "; ".join(f"`{formula}` ({', '.join(names)})" for formula, names in by_formula.items())
    st.caption(f"FLOPs by formula: {listed}.")


def _draw_code(spec: LadderSpec) -> None:
    names = [name for name in get_args(PlainRung) if (spec.problem, name) not in NOT_WRITTEN]
    written = [(name, way_source(spec.problem, name)) for name in names]
    for first in range(0, len(written), 2):
        for column, (name, text) in zip(st.columns(2, gap="large"), written[first : first + 2], strict=False):
            with column:
                st.markdown(f"**{name}**")
                st.code(text, language="python", wrap_lines=True)


def _draw_compiled(spec: LadderSpec, baseline: str) -> None:
    compiled = CompiledLadderSpec(**{name: getattr(spec, name) for name in CompiledLadderSpec.__struct_fields__})
    words = (
        "Starts a C++ compiler in the worker: a cold start of many seconds, told apart from the steady time, then "
        "every rung again in the same rounds."
    )
    if not asked(COMPILED, compiled, "Measure torch.compile too", words):
        return
    ladder = compute(compiled, slot="ladder.compiled", height=WAITING_HEIGHT)
    found = next((rung for rung in ladder.rungs if rung.name == "torch.compile"), None)
    if found is None or found.seconds is None:
        st.warning(f"torch.compile was not measured. {found.reason if found else ''}")
    else:
        cold = (
            ""
            if found.cold_s is None
            else f", after a first call of **{format_time(found.cold_s)}** (not in any ratio)"
        )
        st.markdown(f"Compiled: **{format_time(found.seconds)}** per call{cold}.")
    if ladder.comparison is not None:
        base = baseline if baseline in ladder.comparison.names else ladder.comparison.names[0]
        _draw_chart(rebased(ladder.comparison, base), "ladder.compiled.chart")
    _draw_rungs(ladder, baseline)


def _draw_sweep(spec: LadderSpec) -> None:
    draw_sweep_controls()
    try:
        sweep = sweep_spec(spec)
    except (ValueError, msgspec.ValidationError) as error:
        st.error(str(error), icon=":material/tune:")
        return
    words = f"Every rung at {len(sweep.sizes())} sizes; a loop that would take too long ends early, and says so."
    if not asked(SWEPT, sweep, "Measure the sweep", words):
        return
    _draw_swept(sweep, compute(sweep, slot="ladder.sweep", height=WAITING_HEIGHT))


def _draw_swept(spec: SweepSpec, sweep: Sweep) -> None:
    titles = {"rows": "rows", "columns": "columns", "both": "rows and columns"}
    chart = sweep_chart(
        sweep.series,
        x_title=titles[spec.grow],
        crossovers=sweep.crossovers,
        theme=shown_theme(),
        order=get_args(RungName),
    )
    st.plotly_chart(chart, key="ladder.sweep.chart", config={"displayModeBar": False})
    if not sweep.crossovers:
        st.caption(f"{spec.first} and {spec.second} do not cross between these sizes.")
    for note in sweep.notes:
        st.caption(note)
