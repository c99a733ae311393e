"""The controls of the mixed precision page, the specs they describe, and what of the sidebar is left out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.mixed_precision.spec import AutocastListsSpec, AutocastSpec, AutocastTimingSpec, without_autocast
from engine.models.spec import ModelSpec
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value

SECTION = "amp.section"
SECTIONS = ("Operations", "Casts and cache", "Saved copies", "Errors", "Lists", "Time")
DTYPE, CACHE, SHOWN, BACKWARD, ROUNDS = "amp.dtype", "amp.cache", "amp.shown", "amp.backward", "amp.rounds"
STEP = "amp.step"
FOLDS: dict[str, bool | None] = {"as fits": None, "every call": False, "by module": True}


def draw_controls() -> None:
    """What autocast is given, and what the map shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="amp-controls"):
        with st.container(width=150):
            draw_field(AutocastSpec, "dtype", DTYPE)
        with st.container(width=170):
            draw_field(AutocastSpec, "cache_enabled", CACHE, label="cache_enabled")
        with st.container(width=140):
            st.selectbox(
                "map shows", list(FOLDS), **common_arguments(SHOWN, "Many calls are folded by module to stay readable")
            )
        with st.container(width=210):
            st.toggle("with backward", **common_arguments(BACKWARD, "Nodes of backward after the calls of forward"))


def draw_section() -> str:
    """Which details stand below the map."""
    return draw_choice("Section", SECTIONS, SECTION)


def current_spec(model: ModelSpec) -> AutocastSpec:
    """What the controls describe, of the sidebar's model without its own autocast."""
    return AutocastSpec(
        model=without_autocast(model),
        dtype=field_value(AutocastSpec, "dtype", DTYPE),
        cache_enabled=field_value(AutocastSpec, "cache_enabled", CACHE),
    )


def lists_spec(spec: AutocastSpec) -> AutocastListsSpec:
    """The lists of the device and dtype that the page is about."""
    return AutocastListsSpec(device=spec.model.device, dtype=spec.dtype)


def timing_spec(spec: AutocastSpec) -> AutocastTimingSpec:
    """The measurement of the model that the page is about."""
    rounds = field_value(AutocastTimingSpec, "rounds", ROUNDS)
    return AutocastTimingSpec(model=spec.model, dtype=spec.dtype, rounds=rounds)


def draw_left_out(model: ModelSpec) -> None:
    """Say which settings of the sidebar do not apply, or leave autocast nothing to do."""
    if model.autocast != "off":
        st.caption(
            f":material/info: The sidebar's autocast `{model.autocast}` is left out: this page runs the model with and "
            "without autocast itself, in the dtype chosen here."
        )
    if model.dtype == "float64":
        st.caption(":material/info: Autocast leaves float64 alone, so both runs of this model are the same.")
    if model.dtype == "bfloat16":
        st.caption(":material/info: The weights are bfloat16 already: the plain run is no float32 reference here.")


def values_of(spec: AutocastSpec, section: str = SECTIONS[0], **settings: Any) -> dict[str, Any]:
    """Widget key -> value that makes the page's own controls show `spec`; `settings` name controls of the map."""
    keys = {"shown": SHOWN, "backward": BACKWARD}
    shown = {SHOWN: "as fits", BACKWARD: False} | {keys[name]: value for name, value in settings.items()}
    return {SECTION: section, DTYPE: spec.dtype, CACHE: spec.cache_enabled} | shown
