"""The strip of operations, the sentence above it, and the operation that was clicked."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

import streamlit as st

from engine import run
from engine.figures.format_figure import draw_strip
from engine.figures.format_strip import Shown, Strip, build_strip
from engine.figures.format_words import backward_sentence, first_gain
from engine.memory_format.spec import Converted, FormatSpec, FormatTrace, Operation
from engine.models.spec import ModelSpec
from pages.shared.fields import common_arguments
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.theme import shown_theme
from pages.tensors.memory_formats_numbers import key_numbers
from pages.tensors.memory_formats_tables import draw_operation

PRESENTED = 1.3
"""How much larger the strip is drawn in presenter mode."""
EVERY = "formats.every"
CONVERTED = "formats.converted"
CONVERTIBLE: tuple[Converted, ...] = get_args(Converted)


def draw_options(model: ModelSpec) -> None:
    """What channels_last is applied to, and which operations are drawn; read them by `converted` and `shown`."""
    contiguous = model.memory_format == "contiguous"
    reason = "Only with memory_format channels_last, under Precision and layout" if contiguous else ""
    with st.container(horizontal=True, vertical_alignment="center", key="formats.options"):
        st.markdown(":gray[channels_last applied to]", width="content")
        st.segmented_control(
            "channels_last applied to",
            CONVERTIBLE,
            default=CONVERTIBLE[0],
            required=True,
            disabled=contiguous,
            label_visibility="collapsed",
            **common_arguments(CONVERTED, reason),
        )
        st.toggle("Every operation", **common_arguments(EVERY, "Draw bookkeeping and operations without images too"))


def converted(model: ModelSpec) -> Converted:
    """What channels_last is applied to; both where the model is contiguous and nothing is."""
    chosen: Converted = st.session_state.get(CONVERTED) or CONVERTIBLE[0]
    return CONVERTIBLE[0] if model.memory_format == "contiguous" else chosen


def shown() -> Shown:
    """Which operations are drawn."""
    return "every operation" if st.session_state.get(EVERY) else "images"


@lru_cache(maxsize=32)
def strip_of(spec: FormatSpec, which: Shown) -> Strip:
    """The laid out operations of a trace that is already computed."""
    return build_strip(run(spec), which)


@st.fragment
def draw_picture(spec: FormatSpec, pinned: FormatSpec | None) -> None:
    """The strip and the key numbers; a click on an operation shows its tensors below."""
    trace = run(spec)
    strip = strip_of(spec, shown())
    theme = shown_theme()
    event = st.plotly_chart(
        draw_strip(strip, theme, PRESENTED if st.session_state.get("present") else 1.0),
        key="formats.strip",
        on_select="rerun",
        selection_mode="points",
        config={"displayModeBar": False},
    )
    if after := backward_sentence(trace):
        st.caption(f":material/flash_on: {after}")
    left_out = ", the others have no image or keep books" if strip.drawn < strip.total else ""
    st.caption(f"{strip.drawn} of {strip.total} operations drawn{left_out}. Click one for its tensors.")
    draw_key_numbers(key_numbers(trace), key_numbers(run(pinned)) if pinned else None)
    draw_operation(_selected(trace, event) or _first_of_interest(spec, trace))


def _selected(trace: FormatTrace, event: object) -> Operation | None:
    points = getattr(getattr(event, "selection", None), "points", ())
    numbers = [point.get("customdata") for point in points]
    number = next((n[0] if isinstance(n, list | tuple) else n for n in numbers if n is not None), None)
    inside = isinstance(number, int) and 0 <= number < len(trace.operations)
    return trace.operations[number] if inside else None  # type: ignore[index]


def _first_of_interest(spec: FormatSpec, trace: FormatTrace) -> Operation | None:
    """The one that the sentences speak of: a loss, or in a contiguous model where channels_last appears."""
    if spec.model.memory_format == "contiguous":
        return first_gain(trace)
    lost = trace.lost_in_backward if trace.lost_at is None else trace.lost_at
    return None if lost is None else trace.operations[lost]
