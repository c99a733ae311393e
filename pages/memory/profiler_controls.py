"""The controls of the profiler page: which picture, what is profiled, and how torch's profiler is set."""

from __future__ import annotations

import streamlit as st

from engine.profiler.spec import ProfileSpec, ProfilingCostSpec
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value
from pages.shared.model_controls import current_model

VIEW = "profiler.view"
MEMORY, FLOW, TIME, COST = "Memory", "Who freed it", "Time", "Cost"
VIEWS = (MEMORY, FLOW, TIME, COST)
SETTINGS = ("record_shapes", "group_by_input_shape", "with_stack", "warm_up", "threads")
ROUNDS = "profiler.rounds"
LOG = "profiler.log"


def key_of(name: str) -> str:
    """The widget of a field of ProfileSpec."""
    return f"profiler.{name}"


def draw_controls() -> str:
    """One row: the picture, what runs, and two popovers; returns the picture chosen."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="profiler.row-of-controls"):
        view = draw_choice("Picture", VIEWS, VIEW)
        if view == COST:
            with st.container(width=260):
                draw_field(ProfilingCostSpec, "rounds", ROUNDS)
            return view
        with st.container(width=250):
            draw_field(ProfileSpec, "part", key_of("part"), label="what runs")
        if view == MEMORY:
            st.toggle("log", **common_arguments(LOG, "Small rows show beside a large one; lengths cannot be compared"))
        with st.popover("Profiler", icon=":material/tune:", help="Arguments of torch.profiler, and the program"):
            draw_field(ProfileSpec, "program", key_of("program"))
            draw_field(ProfileSpec, "optimizer", key_of("optimizer"), reason=_no_optimizer())
            for name in SETTINGS:
                draw_field(ProfileSpec, name, key_of(name), label=name)
    return view


def _no_optimizer() -> str:
    part = field_value(ProfileSpec, "part", key_of("part"))
    return "" if part == "training step" else "What runs has no optimizer step"


def current_spec(view: str) -> ProfileSpec | ProfilingCostSpec:
    """What the controls ask for; ValueError when they do not fit together."""
    model = current_model()
    if view == COST:
        return ProfilingCostSpec(model=model, rounds=field_value(ProfilingCostSpec, "rounds", ROUNDS))
    names = ("program", "part", "optimizer", *SETTINGS)
    return ProfileSpec(model=model, **{name: field_value(ProfileSpec, name, key_of(name)) for name in names})
