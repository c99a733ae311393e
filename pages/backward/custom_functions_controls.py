"""The controls of the page on custom Functions, and the spec they describe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from engine.custom_function.catalogue import CATALOGUE, TYPED
from engine.custom_function.spec import CustomFunctionSpec
from pages.shared.fields import common_arguments, draw_field, field_default, field_value

PREFIX = "function."
POINTS = PREFIX + "points"
TEXTS = {"forward": "forward: y =", "backward": "backward: gradient of x =", "backward_z": "gradient of z ="}
HELP = {
    "forward": "Over x, and z if you want a second input: x * sigmoid(x)",
    "backward": "Over x, y (the output), g (grad_output) and z. Empty: autograd differentiates forward",
    "backward_z": "Only where forward or backward names z. Empty: z gets no gradient",
}
DECADES = (*(f"1e-{decade}" for decade in range(12, 0, -1)), "1")
STEPS: dict[str, tuple[str, ...]] = {
    "eps": DECADES,
    "atol": ("0", *DECADES),
    "rtol": ("0", *DECADES),
    "nondet_tol": ("0", *DECADES),
    "noise": ("0", *DECADES),
}
"""Fields whose useful values lie decades apart: chosen from these."""
TOLERANCES = ("eps", "atol", "rtol", "nondet_tol")
CURVE = ("grad_output", "x_from", "x_to", "samples", "seed")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
LONGEST_TEXT = 200


def draw_controls() -> None:
    """Function and its parameters, input, dtype; tolerances and curve folded."""
    draw_field(CustomFunctionSpec, "function", PREFIX + "function", label="Function")
    name = str(field_value(CustomFunctionSpec, "function", PREFIX + "function"))
    st.caption(CATALOGUE[name].what.capitalize() if name != TYPED else "Forward and backward as you type them")
    if name == TYPED:
        for field, label in TEXTS.items():
            arguments = common_arguments(PREFIX + field, HELP[field])
            st.text_input(label, value=str(field_default(CustomFunctionSpec, field)), **arguments)
    for field in CATALOGUE[name].parameters:
        _draw_parameter(field)
    draw_field(CustomFunctionSpec, "inputs", PREFIX + "inputs", label="gradcheck at")
    if field_value(CustomFunctionSpec, "inputs", PREFIX + "inputs") == "own points":
        text = numbers_text(field_default(CustomFunctionSpec, "points"))
        st.text_input("points", value=text, **common_arguments(POINTS, "Up to 12 numbers between commas"))
    draw_field(CustomFunctionSpec, "dtype", PREFIX + "dtype")
    with st.popover("Tolerances", icon=":material/straighten:", width="stretch"):
        for field in TOLERANCES:
            _draw_parameter(field)
        draw_field(CustomFunctionSpec, "fast_mode", PREFIX + "fast_mode", label="fast_mode")
    with st.popover("Curves", icon=":material/show_chart:", width="stretch"):
        for field in CURVE:
            draw_field(CustomFunctionSpec, field, PREFIX + field)


def _draw_parameter(field: str) -> None:
    if field not in STEPS:
        draw_field(CustomFunctionSpec, field, PREFIX + field)
        return
    default = _text_of(field, float(field_default(CustomFunctionSpec, field)))
    st.select_slider(field, STEPS[field], value=default, **common_arguments(PREFIX + field, ""))


def _text_of(field: str, value: float) -> str:
    """The step that stands for a value."""
    return next(text for text in STEPS[field] if float(text) == value)


def current_spec() -> CustomFunctionSpec:
    """What the controls describe; ValueError in words where they cannot be read."""
    values: dict[str, Any] = {}
    for field in CustomFunctionSpec.__struct_fields__:
        if field == "points":
            values[field] = _points()
        elif field in STEPS:
            default = _text_of(field, float(field_default(CustomFunctionSpec, field)))
            values[field] = float(st.session_state.get(PREFIX + field, default))
        else:
            values[field] = field_value(CustomFunctionSpec, field, PREFIX + field)
    if values["function"] != TYPED:
        values |= {field: field_default(CustomFunctionSpec, field) for field in TEXTS}
    if values["inputs"] != "own points":
        values["points"] = field_default(CustomFunctionSpec, "points")
    return CustomFunctionSpec(**values)


def _points() -> tuple[float, ...]:
    if field_value(CustomFunctionSpec, "inputs", PREFIX + "inputs") != "own points":
        return ()
    default = numbers_text(field_default(CustomFunctionSpec, "points"))
    return parse_numbers(str(st.session_state.get(POINTS, default)))


def numbers_text(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def parse_numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas or blanks; ValueError with what was wrong."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"points takes at most {LONGEST_TEXT} characters; received {len(text)}. Write -1, 0, 2.5.")
    words = [word for word in re.split(r"[\s,;]+", text.strip()) if word]
    for word in words:
        if not NUMBER.fullmatch(word):
            raise ValueError(f"points takes numbers between commas; received {word[:40]!r}. Write them as -1, 0, 2.5.")
    return tuple(map(float, words))


def values_of(spec: CustomFunctionSpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show `spec`; fields without a widget now are left out."""
    fields = ["function", *spec.entry.parameters, "inputs", "dtype", *TOLERANCES, "fast_mode", *CURVE]
    fields += list(TEXTS) if spec.function == TYPED else []
    values: dict[str, object] = {
        PREFIX + field: _text_of(field, getattr(spec, field)) if field in STEPS else getattr(spec, field)
        for field in fields
    }
    if spec.inputs == "own points":
        values[POINTS] = numbers_text(spec.points)
    return values
