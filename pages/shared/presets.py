"""Presets: a question, a prediction to make, and what to notice once the picture is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from engine.models.spec import ModelSpec
from pages.shared.link import forget_opened_groups
from pages.shared.model_controls import current_model, widget_values

CHOSEN = "question"


@dataclass(frozen=True)
class Preset:
    """One question: the model it is asked of, the page's own settings, and the two texts around the picture."""

    question: str
    prediction: str
    notice: str
    model: ModelSpec
    settings: Mapping[str, Any] = field(default_factory=dict)


def apply_preset(preset: Preset, number: int) -> None:
    """Set every control to the preset; call it from a widget callback, before the widgets are drawn."""
    st.session_state.update(widget_values(preset.model) | dict(preset.settings))
    st.session_state[CHOSEN] = number
    forget_opened_groups()


def choose_preset(presets: Sequence[Preset]) -> None:
    """The list of questions of this page."""
    st.selectbox(
        "Question",
        range(len(presets)),
        index=None,
        format_func=lambda number: presets[number].question,
        key=CHOSEN,
        placeholder="Start from a question …",
        label_visibility="collapsed",
        on_change=_apply_chosen,
        args=(tuple(presets),),
        bind="query-params",
        persist_state="page",
    )


def draw_preset(presets: Sequence[Preset]) -> None:
    """The chosen question with its prediction; what to notice stays folded until asked for."""
    number = st.session_state.get(CHOSEN)
    if number is None or not 0 <= number < len(presets):
        return
    preset = presets[number]
    with st.container(border=True, key="question-card"):
        presenting = bool(st.session_state.get("present"))
        prediction, side = st.columns([2, 1] if presenting else [5, 1], vertical_alignment="center")
        prediction.markdown(preset.prediction)
        with side.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", gap="xsmall"):
            with st.popover("Notice", icon=":material/visibility:", help="What to notice, once you have predicted"):
                st.markdown(preset.notice)
            if presenting:
                _draw_stepper(presets, number)
        if current_model() != preset.model:
            _draw_changed(preset, number)


def _draw_changed(preset: Preset, number: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("You have changed settings since; the text speaks of the question's own.", width="content")
        st.button("Back to them", key="restore", type="tertiary", on_click=apply_preset, args=(preset, number))


def _draw_stepper(presets: Sequence[Preset], number: int) -> None:
    for label, icon, target in (("Previous", "arrow_back", number - 1), ("Next", "arrow_forward", number + 1)):
        inside = 0 <= target < len(presets)
        st.button(
            "",
            key=f"step.{label}",
            icon=f":material/{icon}:",
            help=f"{label} question",
            disabled=not inside,
            on_click=apply_preset,
            args=(presets[target] if inside else presets[number], target),
        )
    st.caption(f"{number + 1} of {len(presets)}", width="content")


def _apply_chosen(presets: tuple[Preset, ...]) -> None:
    number = st.session_state.get(CHOSEN)
    if number is not None:
        apply_preset(presets[number], number)
