"""The controls of the checkpointing page: section, model, policies, axes, budget."""

from __future__ import annotations

from typing import get_args

import msgspec
import streamlit as st

from engine.checkpointing.policy import Policy
from engine.checkpointing.spec import Forecasts, ForecastSpec, PolicySpec, PolicyTimingSpec, SearchSpec
from engine.figures.checkpointing_points import Across, Up
from engine.figures.units import format_bytes
from engine.models.shape import block_count, has_dropout
from engine.models.spec import ModelSpec
from pages.memory.checkpointing_menu import chosen_policies, draw_menu, draw_own
from pages.shared.bound import bind, none_but
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value
from pages.shared.model_controls import current_model

SECTION = "policies.section"
SECTIONS = ("Policies", "Search under a budget", "Dropout and reentrant")
SHOWN = "policies.shown"
ACROSS, UP = "policies.across", "policies.up"
ACROSS_OPTIONS: dict[str, Across] = {"held for backward": "held_bytes", "peak": "peak_bytes"}
UP_OPTIONS: dict[str, Up] = {
    "time": "time",
    "FLOPs again": "recomputed_flops",
    "operations again": "recomputed_operations",
}
ROUNDS = "policies.rounds"
SHARE, BUDGET_OF, SELECTIVE = "budget.share", "budget.of", "budget.selective"
DEFAULT_SHARE = 25
PLAIN = ("checkpoint", "checkpoint_k", "checkpoint_segments", "use_reentrant", "preserve_rng_state")
RULES = tuple(
    Policy(kind="each_block", use_reentrant=reentrant, preserve_rng_state=preserve)
    for reentrant in (False, True)
    for preserve in (True, False)
)
"""The four ways to checkpoint each block that dropout and gradients of inputs tell apart."""


def draw_section() -> str:
    """Which of the three the page is about; only that one is computed."""
    return draw_choice("Section", SECTIONS, SECTION)


def plain_model() -> ModelSpec:
    """The model of the sidebar without a checkpoint of its own; ValueError where its fields contradict."""
    model = current_model()
    defaults = ModelSpec()
    return msgspec.structs.replace(model, **{name: getattr(defaults, name) for name in PLAIN})


def draw_controls(section: str) -> None:
    """The row of the section's own controls."""
    if section == SECTIONS[0]:
        with st.container(horizontal=True, vertical_alignment="bottom", key="policies.controls"):
            with st.container(width="stretch"):
                draw_menu()
            with st.popover("Your own", icon=":material/add:"):
                draw_own()
            with st.popover("Measuring", icon=":material/timer:"):
                draw_field(PolicyTimingSpec, "rounds", ROUNDS)
    elif section == SECTIONS[1]:
        with st.container(horizontal=True, vertical_alignment="bottom", key="budget.controls"):
            told = "100 % is what off is forecast to take: peaks are estimated, so off itself may then not fit"
            st.slider("budget, % of off's forecast", 1, 120, DEFAULT_SHARE, width=320, **common_arguments(SHARE, told))
            draw_across("of", BUDGET_OF)
            st.toggle("may keep single operations", True, **common_arguments(SELECTIVE, "inside of a checkpoint"))


def draw_across(label: str, key: str) -> None:
    """Held or peak."""
    options = list(ACROSS_OPTIONS)
    st.segmented_control(label, options, default=options[0], required=True, **bind(key, why=none_but(options)))


def draw_up() -> None:
    """What a policy costs: time, or what is run again."""
    options = list(UP_OPTIONS)
    st.segmented_control("up", options, default=options[0], required=True, **bind(UP, why=none_but(options)))


def across(key: str = ACROSS) -> Across:
    return ACROSS_OPTIONS.get(str(st.session_state.get(key)), "held_bytes")


def up() -> Up:
    return UP_OPTIONS.get(str(st.session_state.get(UP)), "time")


def policy_spec(model: ModelSpec) -> PolicySpec:
    """The model under off and the policies chosen."""
    return PolicySpec(model=model, policies=chosen_policies(model))


def rules_spec(model: ModelSpec) -> PolicySpec:
    """Each block checkpointed in the four ways of `RULES`, beside off; without dropout only the two that differ."""
    if not block_count(model.architecture):
        return PolicySpec(model=model, policies=(Policy(),))
    rules = RULES if has_dropout(model.architecture) and model.train else RULES[::2]
    return PolicySpec(model=model, policies=(Policy(), *rules))


def forecast_of(spec: PolicySpec) -> ForecastSpec:
    """The same, not run."""
    return ForecastSpec(model=spec.model, policies=spec.policies)


def timing_of(spec: PolicySpec) -> PolicyTimingSpec:
    """The same, timed."""
    rounds = field_value(PolicyTimingSpec, "rounds", ROUNDS)
    return PolicyTimingSpec(model=spec.model, policies=spec.policies, rounds=rounds)


def search_spec(model: ModelSpec, forecasts: Forecasts) -> SearchSpec:
    """The budget as a share of what off is forecast to take; bytes that off is not known to take are 0."""
    of = across(BUDGET_OF)
    off = getattr(forecasts.forecasts[0], of) or 0
    share = int(st.session_state.get(SHARE, DEFAULT_SHARE))
    return SearchSpec(
        model=model,
        budget_bytes=off * share // 100,
        budget_of=of,
        selective=bool(st.session_state.get(SELECTIVE, True)),
    )


def budget_words(spec: SearchSpec, off_bytes: int) -> str:
    """ "budget 1.20 MiB of 4.80 MiB held for backward"."""
    what = "held for backward" if spec.budget_of == "held_bytes" else "at the peak"
    return f"budget {format_bytes(spec.budget_bytes)} of {format_bytes(off_bytes)} {what}"


def section_values(section: str, **settings: object) -> dict[str, object]:
    """Widget key -> value for presets."""
    assert section in SECTIONS
    assert set(get_args(Across)) == set(ACROSS_OPTIONS.values())
    return {SECTION: section, **settings}
