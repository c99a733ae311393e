"""Where channels_last went, in a sentence; or that the model has no images, and what PyTorch raised."""

from __future__ import annotations

import streamlit as st

from engine.figures.format_words import headline, remedy
from engine.memory_format.spec import FormatSpec, FormatTrace
from engine.models.spec import ModelSpec, describe
from pages.shared.presets import apply_preset
from pages.tensors.memory_formats_presets import PRESETS

ICONS = {"lost": ":material/flash_on:", "kept": ":material/check_circle:", "gained": ":material/arrow_upward:"}
INFERENCE_MODE = (
    "Under inference_mode PyTorch hands operations such as `aten::linear`, `aten::conv2d` and `aten::reshape` over "
    "whole: what they call is seen as inside their kernel. Being watched also lets some take another way: "
    "`aten::linear` on an image's transposed tokens copies them in a plain run and not here, so *Inside kernels* may "
    "be too low. Choose no_grad for the copies of a plain run."
)


def draw_headline(spec: FormatSpec, trace: FormatTrace) -> None:
    """Where channels_last went, and what would keep it."""
    tone, sentence = headline(spec, trace)
    draw = st.error if tone == "lost" else st.success if tone == "kept" else st.info
    if tone == "lost" and trace.lost_at is not None:
        sentence += f"  \n{remedy(trace.operations[trace.lost_at])}"
    draw(sentence, icon=ICONS.get(tone, ":material/info:"))
    if spec.model.grad_mode == "inference_mode":
        st.caption(f":material/visibility_off: {INFERENCE_MODE}")


def draw_error(trace: FormatTrace) -> None:
    """The error PyTorch raised, in its own words; what ran before it is shown all the same."""
    if trace.error is not None:
        st.error(f"PyTorch raised **{trace.error.type}** in {trace.error.stage}:", icon=":material/report:")
        st.code(trace.error.message, language=None, wrap_lines=True)


def draw_no_images(model: ModelSpec) -> None:
    """Why there is nothing to show, and every question of the page: each brings a model that has images."""
    st.info(
        f"**{describe(model.architecture)} has no images.** Memory formats order the four dimensions (N, C, H, W): "
        "choose *ResNet* or *Convolutional blocks* as model, or start from one of these questions, which set it.",
        icon=":material/image:",
    )
    for number, preset in enumerate(PRESETS):
        st.button(
            preset.question,
            key=f"formats.open.{number}",
            icon=":material/arrow_forward:",
            type="primary" if number == 0 else "secondary",
            on_click=apply_preset,
            args=(preset, number),
        )
