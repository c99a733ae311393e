"""Where channels_last went, in a sentence; or that the model has no images, and what PyTorch raised."""

from __future__ import annotations

import streamlit as st

from engine.figures.format_words import headline, remedy
from engine.memory_format.spec import FormatSpec, FormatTrace
from engine.models.spec import ModelSpec, describe
from pages.shared.presets import apply_preset
from pages.tensors.memory_formats_presets import PRESETS

ICONS = {"lost": ":material/flash_on:", "kept": ":material/check_circle:", "gained": ":material/arrow_upward:"}
OFFERED = (0, 1, 2)
"""Questions offered to a model without images."""


def draw_headline(spec: FormatSpec, trace: FormatTrace) -> None:
    """Where channels_last went, and what would keep it."""
    tone, sentence = headline(spec, trace)
    draw = st.error if tone == "lost" else st.success if tone == "kept" else st.info
    if tone == "lost" and trace.lost_at is not None:
        sentence += f"  \n{remedy(trace.operations[trace.lost_at])}"
    draw(sentence, icon=ICONS.get(tone, ":material/info:"))


def draw_error(trace: FormatTrace) -> None:
    """The error PyTorch raised, in its own words; what ran before it is shown all the same."""
    if trace.error is not None:
        st.error(f"PyTorch raised **{trace.error.type}** in {trace.error.stage}:", icon=":material/report:")
        st.code(trace.error.message, language=None, wrap_lines=True)


def draw_no_images(model: ModelSpec) -> None:
    """Why there is nothing to show, and questions that have images."""
    st.info(
        f"**{describe(model.architecture)} has no images.** Memory formats order the four dimensions (N, C, H, W): "
        "choose *ResNet* or *Convolutional blocks* as model, or start from a question.",
        icon=":material/image:",
    )
    for number in OFFERED:
        st.button(
            PRESETS[number].question,
            key=f"formats.open.{number}",
            icon=":material/arrow_forward:",
            on_click=apply_preset,
            args=(PRESETS[number], number),
        )
