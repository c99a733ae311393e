"""The controls of the number format page and the specs they describe."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from engine.number_format.spec import NumberFormatSpec, RunningSumSpec
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value

SECTION = "format.section"
SECTIONS = ("One value", "Running sum")
TEXT, EXPONENT, ADDEND, START, COUNT = "format.text", "format.exponent", "format.addend", "format.start", "format.count"
FIRST_EXPONENT = 16
NUMBER_HELP = "As in 0.1, 1/3, 0x1.8p-3, 2**-24, inf or nan"

AnySpec = NumberFormatSpec | RunningSumSpec


def draw_section() -> str:
    """One value in every format, or the same addition again and again."""
    return draw_choice("Section", SECTIONS, SECTION)


def draw_controls(section: str) -> None:
    """The settings of one section."""
    if section == SECTIONS[0]:
        st.text_input("numbers, up to 6 between commas", value="0.1", **common_arguments(TEXT, NUMBER_HELP))
        help_text = "A loss scale as a power of two: the number is multiplied, converted, and divided again in float32"
        st.slider("scale = 2 to the power", -40, 40, FIRST_EXPONENT, 1, **common_arguments(EXPONENT, help_text))
        return
    st.text_input("added again and again", value="0.1", **common_arguments(ADDEND, NUMBER_HELP))
    st.text_input("to", value="0", **common_arguments(START, NUMBER_HELP))
    draw_field(RunningSumSpec, "count", COUNT, label="additions")


def current_spec(section: str) -> AnySpec:
    """What the controls describe; ValueError in words where a text is no number."""
    state = st.session_state
    if section == SECTIONS[0]:
        exponent = state.get(EXPONENT, FIRST_EXPONENT)
        return NumberFormatSpec(text=str(state.get(TEXT, "0.1")), scale=2.0**exponent)
    return RunningSumSpec(
        addend=str(state.get(ADDEND, "0.1")),
        start=str(state.get(START, "0")),
        count=field_value(RunningSumSpec, "count", COUNT),
    )


def values_of(spec: AnySpec) -> dict[str, Any]:
    """Widget key -> value that makes the controls show `spec`, whose scale is a power of two."""
    if isinstance(spec, RunningSumSpec):
        return {SECTION: SECTIONS[1], ADDEND: spec.addend, START: spec.start, COUNT: spec.count}
    return {SECTION: SECTIONS[0], TEXT: spec.text, EXPONENT: int(math.log2(spec.scale))}
