"""What is known of a set of policies now: forecast, counts, times, each from a job of its own."""

from __future__ import annotations

import msgspec
import streamlit as st

from engine.checkpointing.spec import Forecasts, Outcomes, PolicySpec, PolicyTimes
from engine.figures.checkpointing_words import Row, rows_of
from engine.figures.units import format_time
from engine.models.shape import block_count
from engine.timing.comparison import Comparison
from pages.memory.checkpointing_controls import forecast_of, timing_of
from pages.memory.checkpointing_menu import KNOWN
from pages.shared.jobs import compute_meanwhile, draw_fault, draw_rest, fault_of
from pages.shared.pin import encode_spec

FORECAST, COUNTS, TIMES = "policies.forecast", "main", "policies.times"
FIRST_PAINT_S, COUNTS_S = 0.3, 0.5
"""How long the page waits for the forecast and then for the counts before it is drawn without them."""
UNASKED_S = 4.0
"""Measurements that are estimated to take less begin by themselves."""
OPERATION_S, FLOP_S = 2e-5, 1 / 2e10
"""Of one operation and one FLOP on one thread; for the estimate only."""
ASKED = "policies.asked"
REST_HEIGHT = 64
"""Of the row that tells what runs: a stage of two lines."""


class Known(msgspec.Struct, frozen=True):
    """Results of one PolicySpec as far as they are there."""

    spec: PolicySpec
    forecasts: Forecasts | None
    outcomes: Outcomes | None
    times: PolicyTimes | None

    @property
    def comparison(self) -> Comparison | None:
        return self.times.comparison if self.times is not None else None

    @property
    def blocks(self) -> int:
        return block_count(self.spec.model.architecture)

    @property
    def rows(self) -> tuple[Row, ...]:
        """One per policy, off first."""
        outcomes = self.outcomes.outcomes if self.outcomes is not None else ()
        forecasts = self.forecasts.forecasts if self.forecasts is not None else ()
        return rows_of(self.spec.policies, outcomes, forecasts, self.comparison, self.blocks)


def look_up(spec: PolicySpec) -> Known:
    """What is there of `spec`; jobs for the rest are under way."""
    forecasts = compute_meanwhile(forecast_of(spec), slot=FORECAST, patience_s=FIRST_PAINT_S)
    outcomes = compute_meanwhile(spec, slot=COUNTS, patience_s=COUNTS_S)
    if outcomes is not None:
        st.session_state[KNOWN] = tuple(one.operation for one in outcomes.operations)
    times = None
    if outcomes is not None and is_timed(spec, outcomes):
        times = compute_meanwhile(timing_of(spec), slot=TIMES)
    return Known(spec, forecasts, outcomes, times)


def look_up_pinned(spec: PolicySpec, outcomes: Outcomes | None) -> Known | None:
    """The same of run A, whose counts are there already; its times where they take no long measurement."""
    if outcomes is None:
        return None
    timed = len(spec.policies) > 1 and seconds_of(spec, outcomes) <= UNASKED_S
    times = compute_meanwhile(timing_of(spec), slot=f"{TIMES}.pinned") if timed else None
    return Known(spec, None, outcomes, times)


def is_timed(spec: PolicySpec, outcomes: Outcomes) -> bool:
    """Whether times are measured: because that is quick, or because it was asked for."""
    if sum(one.error is None for one in outcomes.outcomes) < 2:
        return False
    asked = st.session_state.get(ASKED) == encode_spec(timing_of(spec))
    return asked or seconds_of(spec, outcomes) <= UNASKED_S


def seconds_of(spec: PolicySpec, outcomes: Outcomes) -> float:
    """About how long the rounds will take; estimated."""
    step_s = sum(
        (3 * one.forward_operations + one.recomputed_operations) * OPERATION_S
        + (one.forward_flops + one.backward_flops) * FLOP_S
        for one in outcomes.outcomes
    )
    return step_s * (timing_of(spec).rounds + 2)


def draw_progress(known: Known, words: str) -> None:
    """One row, always as high: `words`, what runs now with Stop, why something is not there, what to ask for."""
    spec = known.spec
    with st.container(
        height=REST_HEIGHT, border=False, key="policies.rest", horizontal=True, vertical_alignment="center"
    ):
        if known.forecasts is not None or known.times is not None or is_refused(known):  # two that run fill the row
            st.caption(words, width="stretch")
        if known.forecasts is None:
            draw_rest(forecast_of(spec), FORECAST)
        if known.outcomes is None and not is_refused(known):
            draw_rest(spec, COUNTS)
        elif known.outcomes is not None and known.times is None:
            _draw_times(spec, known.outcomes)


def _draw_times(spec: PolicySpec, outcomes: Outcomes) -> None:
    timing = timing_of(spec)
    if is_timed(spec, outcomes):
        draw_rest(timing, TIMES)
    elif sum(one.error is None for one in outcomes.outcomes) > 1:
        st.button(
            f"Measure the times (about {format_time(seconds_of(spec, outcomes))})",
            icon=":material/timer:",
            key="policies.measure",
            on_click=_ask,
            args=(spec,),
            help=f"{timing.rounds} rounds; how long they take is estimated",
        )


def _ask(spec: PolicySpec) -> None:
    st.session_state[ASKED] = encode_spec(timing_of(spec))


def is_refused(known: Known) -> bool:
    """Whether there are no counts, and that is no matter of waiting."""
    return fault_of(known.spec, COUNTS) is not None


def draw_refusal(known: Known) -> None:
    """Why there are no counts, in full, where there will be none."""
    report = fault_of(known.spec, COUNTS)
    if report is not None:
        draw_fault(report, COUNTS)
