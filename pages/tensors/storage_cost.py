"""What non-contiguity costs, measured live, and after how many calls `.contiguous()` has paid for itself."""

from __future__ import annotations

import math

import streamlit as st

from engine.figures.timing_chart import ratio_chart
from engine.figures.units import format_bytes, format_significant, format_time
from engine.storage.spec import Cost, CostSpec, LayoutSpec, LayoutTrace
from engine.timing.spec import Comparison
from pages.shared.bound import bind
from pages.shared.fields import draw_field, field_value
from pages.shared.jobs import compute
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

MEASURE = "storage.measure"
SMALL_BYTES = 1 << 20
WAITING_HEIGHT = 300
FIELDS = ("operation", "rounds", "threads")


def draw_cost(spec: LayoutSpec, trace: LayoutTrace) -> None:
    """The operation to measure; measuring takes seconds, so it waits for the toggle."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in FIELDS:
            draw_field(CostSpec, name, f"storage.cost.{name}", label=name)
        st.toggle(
            "Measure",
            help="Interleaved rounds of the view, its contiguous copy and .contiguous() itself; a few seconds",
            **bind(MEASURE),
        )
    end = trace.layouts[-1] if trace.layouts else None
    if end is not None and end.view_bytes < SMALL_BYTES:
        st.caption(
            f"The end of the chain has {format_bytes(end.view_bytes)}: at this size a call costs its overhead whatever "
            "the strides are. Try a shape of 2048, 2048."
        )
    if not st.session_state.get(MEASURE):
        st.caption("Switch *Measure* on to time this operation on the view against its contiguous copy.")
        return
    fields = {name: field_value(CostSpec, name, f"storage.cost.{name}") for name in FIELDS}
    bare = LayoutSpec(
        shape=spec.shape,
        dtype=spec.dtype,
        device=spec.device,
        fill=spec.fill,
        memory_format=spec.memory_format,
        steps=spec.steps,
        seed=spec.seed,
    )
    _draw_result(compute(CostSpec(layout=bare, **fields), slot="cost", height=WAITING_HEIGHT))


def _draw_result(cost: Cost) -> None:
    if cost.error is not None:
        draw_said(f"`{cost.operation}` was refused by PyTorch", cost.error)
    if cost.comparison is not None:
        st.markdown(_verdict(cost, cost.comparison))
        theme = shown_theme()
        st.plotly_chart(ratio_chart(cost.comparison, theme), key="storage.cost.chart", config={"displayModeBar": False})
        _draw_times(cost.comparison)
    for note in cost.notes:
        st.caption(note)


def _verdict(cost: Cost, comparison: Comparison) -> str:
    ratio = comparison.ratios[0]
    band = f"{format_significant(ratio.low)} to {format_significant(ratio.high)}"
    if not ratio.shows_a_difference:
        return f"**No difference shown**: the 95 % band of view / contiguous copy, {band}, holds 1."
    words = (
        f"On the view `{cost.operation}` takes **{format_significant(ratio.ratio)} times** as long (95 % band {band})."
    )
    if cost.break_even_calls is not None:
        calls = math.ceil(cost.break_even_calls)
        words += f" One `.contiguous()` has paid for itself after **{calls} call{'s' if calls > 1 else ''}**."
    return words


def _draw_times(comparison: Comparison) -> None:
    grid = st.grid("auto", min_column_width=160, gap="small")
    for name in comparison.names:
        grid.metric(
            name,
            format_time(comparison.seconds_of(name)),
            help=f"Median of {len(comparison.cpu_s[0])} rounds, seconds per call; every sample is in the chart",
            border=True,
        )
