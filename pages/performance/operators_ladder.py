"""The operators page below its toolbar: ladder and roofline, key numbers, and tabs for the rest."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from engine.figures.ladder import rebased
from engine.figures.operator_ladder import PLOT_CONFIG, error_chart, ladder_chart
from engine.figures.operator_table import COLUMNS, MEMORY_COLUMNS, ladder_rows, memory_rows, rung_notes
from engine.figures.roofline import allowed_s, roof_words, roofline_chart
from engine.figures.timing_chart import ratio_chart
from engine.figures.units import format_bytes, format_count, format_shape
from engine.operator_ladder.catalogue import colour_order
from engine.operator_ladder.results import OperatorLadder, Roofline
from engine.operator_ladder.spec import OperatorLadderSpec, formulas_of
from engine.timing.comparison import Comparison
from pages.performance.operators_checks import draw_checks
from pages.performance.operators_numbers import headline_atlas, ladder_numbers, winner_words
from pages.performance.operators_own import draw_own_kernel
from pages.performance.operators_source import draw_source
from pages.performance.operators_sweep import draw_compiled, draw_sweep
from pages.shared.fields import common_arguments
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.operators_build import draw_build_progress
from pages.shared.theme import shown_theme

TABS = ("Every rung", "Memory", "Error", "Size sweep", "torch.compile", "Source", "Checks", "Your own", "How to read")
LARGE_BYTES = 32 << 20
PRESENTED = 5
"""Key numbers that fit beside each other in presenter mode."""
HOW_TO_READ = (
    "Every rung computes the same from the same inputs. **composed** is the formula in elementary operations, "
    "**built-in** what ATen has, **atlas** the compiled operator with its loops built for the instructions every "
    "processor has (the baseline set), for AVX2 and for AVX-512. Times come from interleaved rounds; a speedup is the "
    "median of paired ratios with its 95 % band, always told with the rung it is compared with, on thread CPU time "
    "with one thread. **Roofline**: each rung may go no higher than the slope (bytes moved at the bandwidth measured "
    "here) and the flat roof (multiply-adds on registers measured here). All rungs count the same operations, by the "
    "formula below the table; one that moves more bytes stands further left. Every +, −, ×, ÷, root and exponential "
    "counts as one operation, though an exponential takes some fifteen instructions: a point well below its slope may "
    "be bound by those. The slope *taken* for % of a roof is that of the smallest place measured with at least as "
    "many bytes as a call touches; memory, where a call allocates more than the second-level cache was measured with, "
    "because fresh blocks are in no cache. A point *above* its slope found part of its data in a nearer cache. "
    "**Errors** are largest distances to the float64 result, in eps of the dtype times its largest value: one eps is "
    "the last digit."
)


def draw_ladder(
    spec: OperatorLadderSpec,
    ladder: OperatorLadder,
    roofline: Roofline | None,
    before: tuple[OperatorLadderSpec, OperatorLadder] | None,
) -> None:
    """Banner, both pictures, key numbers, details."""
    _draw_banner(ladder)
    if spec.row.lesson:
        st.caption(f":material/lightbulb: {spec.row.lesson}")
    comparison = _draw_head(spec, ladder)
    if comparison is not None:
        _draw_pictures(spec, ladder, roofline, comparison)
    _draw_numbers(spec, ladder, roofline, comparison.names[0] if comparison else spec.row.rungs[0], before)
    _draw_details(spec, ladder, roofline, comparison)


def _draw_numbers(
    spec: OperatorLadderSpec,
    ladder: OperatorLadder,
    roofline: Roofline | None,
    compared: str,
    before: tuple[OperatorLadderSpec, OperatorLadder] | None,
) -> None:
    """One row of numbers, with A's where A is this operator; who wins, and which roof was taken."""
    old = None
    if before is not None:
        is_same_roof = (before[0].dtype, before[0].threads) == (spec.dtype, spec.threads)
        old = ladder_numbers(before[1], roofline if is_same_roof else None, compared)
    shown = PRESENTED if st.session_state.get("present") else None
    draw_key_numbers(ladder_numbers(ladder, roofline, compared)[:shown], old)
    best = headline_atlas(ladder)
    roof = roof_words(best, ladder, roofline) if best and roofline else ""
    st.markdown(f"{winner_words(ladder)} :gray[{roof}]" if roof else winner_words(ladder))


def _draw_banner(ladder: OperatorLadder) -> None:
    """Nothing when what was measured is compiled code."""
    if ladder.is_compiled:
        return
    draw_build_progress()
    st.caption(
        f"Measured on the reference implementations, because {ladder.reason}: the compiled rungs are missing; values, "
        f"gradients and checks are there."
    )


def _draw_head(spec: OperatorLadderSpec, ladder: OperatorLadder) -> Comparison | None:
    """Shapes, and what speedups are against."""
    shapes = ", ".join(map(format_shape, ladder.input_shapes))
    if spec.row.is_step:
        shapes = f"{spec.rows} tensors of {format_shape((spec.columns,))}"
    left, right = st.columns((0.64, 0.36), vertical_alignment="center")
    left.markdown(f"`{spec.operator}` of {shapes}, `{spec.dtype}`, {'step' if spec.row.is_step else spec.work}")
    with right.container(horizontal=True, vertical_alignment="center"):
        st.markdown("compared with", width="content")
        chosen = st.selectbox(
            "Compared with",
            spec.row.rungs,
            label_visibility="collapsed",
            width="stretch",
            **common_arguments(f"operators.{spec.operator}.compared", "Every speedup is against this rung"),
        )
    if ladder.comparison is None:
        st.warning("Fewer than two rungs could be measured, so there is nothing to compare.")
        return None
    found = rebased(ladder.comparison, str(chosen))
    if found.names[0] != chosen:
        st.caption(f"{chosen} was not measured, so speeds are compared with {found.names[0]}: see *Every rung*.")
    return found


def _draw_pictures(
    spec: OperatorLadderSpec, ladder: OperatorLadder, roofline: Roofline | None, comparison: Comparison
) -> None:
    theme, order = shown_theme(), colour_order(spec.row)
    left, right = (st.container(), st.container()) if st.session_state.get("present") else st.columns(2, gap="medium")
    best = headline_atlas(ladder)
    bounds = allowed_s(best, ladder, roofline) if roofline else None
    bars = ladder_chart(comparison, theme, rungs=spec.row.rungs, order=order, bounds_s=bounds)
    with left:
        st.plotly_chart(bars, key="operators.chart", config=PLOT_CONFIG)
    with right:
        if roofline is None:
            st.caption("The roofline was not measured.")
        else:
            height = bars.layout.height
            points = roofline_chart(ladder, roofline, theme, order=order, height=height, headline=best)
            st.plotly_chart(points, key="operators.roofline", config=PLOT_CONFIG)


def _draw_details(
    spec: OperatorLadderSpec, ladder: OperatorLadder, roofline: Roofline | None, comparison: Comparison | None
) -> None:
    draws: tuple[Callable[[], None], ...] = (
        lambda: _draw_rungs(spec, ladder, roofline, comparison),
        lambda: _draw_memory(ladder),
        lambda: _draw_errors(spec, ladder),
        lambda: draw_sweep(spec),
        lambda: draw_compiled(spec),
        lambda: draw_source(spec.row, ladder),
        lambda: draw_checks(spec),
        draw_own_kernel,
        _draw_explanation,
    )
    for tab, draw in zip(st.tabs(TABS, key="operators.details", on_change="rerun"), draws, strict=True):
        if tab.open:
            with tab:
                draw()


def _draw_rungs(
    spec: OperatorLadderSpec, ladder: OperatorLadder, roofline: Roofline | None, comparison: Comparison | None
) -> None:
    table = pd.DataFrame(ladder_rows(ladder, comparison, roofline), columns=list(COLUMNS))
    shown = ["rung", "time per call", "compared with", "GB/s", "GFLOP/s", "of its roof", "error, eps", "code"]
    named = {"compared with": f"compared with {comparison.names[0]}"} if comparison else {}
    st.dataframe(table[shown].rename(columns=named), hide_index=True, width="stretch")
    for note in rung_notes(ladder):
        st.caption(note)
    bytes_formula, flops_formula = formulas_of(spec.row, spec.work)
    st.caption(
        f"Operations: `{flops_formula}` = {format_count(ladder.flops)}. Least bytes, every input read and every result "
        f"written once: `{bytes_formula}` = {format_bytes(ladder.least_bytes)}."
    )
    if comparison is not None:
        st.markdown("**Every paired sample**")
        chart = ratio_chart(comparison, shown_theme(), order=colour_order(spec.row))
        st.plotly_chart(chart, key="operators.ratios", config=PLOT_CONFIG)


def _draw_memory(ladder: OperatorLadder) -> None:
    st.dataframe(pd.DataFrame(memory_rows(ladder), columns=list(MEMORY_COLUMNS)), hide_index=True, width="stretch")
    st.caption(
        f"Multiples are of the result, {format_bytes(ladder.output_bytes)}. *Saved* counts what "
        f"`saved_tensors_hooks` are given, bytes of each storage once. *Peak* is the most that PyTorch's allocator "
        f"held at once beyond the inputs during one call, by the profiler's memory events, results included. *Moved* "
        f"is what every operation dispatched reads and writes."
    )
    if ladder.output_bytes > LARGE_BYTES:
        st.info(
            "The result is larger than 32 MiB: the C library takes such a block fresh from the system at every call, "
            "and each page of it is faulted in when first written. Page faults per call show how many.",
            icon=":material/memory:",
        )


def _draw_explanation() -> None:
    st.markdown(HOW_TO_READ)


def _draw_errors(spec: OperatorLadderSpec, ladder: OperatorLadder) -> None:
    chart = error_chart(ladder.rungs, spec.dtype, shown_theme(), order=colour_order(spec.row))
    st.plotly_chart(chart, key="operators.errors", config=PLOT_CONFIG)
    if spec.dtype == "float64":
        st.caption("The reference is float64 as well here, so both round: distances of a few eps say nothing.")
