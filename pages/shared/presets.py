"""Presets: a question, a prediction to make, and what to notice once the picture is there."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from engine.models.spec import ModelSpec
from engine.runner.contract import Spec
from pages.shared.choice import let_wait
from pages.shared.link import forget_model, link_text
from pages.shared.model_controls import current_model, link_values, widget_values
from pages.shared.pin import PARAMETER, encode_spec, pin_as_a, pinned_spec, unpin_text

CHOSEN = "question"
"""Number of the chosen question in the list of its page."""
ASKED = "question-asked"
"""Its text: the number means another question on another page."""
SHOWN = "question-shown"
"""The question whose answer the presenter has uncovered."""
PINNED = "pinned-by-question"
"""The A that the chosen question pinned, as text for a link."""


@dataclass(frozen=True)
class Preset:
    """One question: what it is asked of, and the two texts around the picture.

    `model` fills the shared model controls (None on a page without them), `settings` the page's own widgets by key;
    `against` is pinned as A, so that the question opens as a comparison.
    """

    question: str
    prediction: str
    notice: str
    model: ModelSpec | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    against: Spec[Any] | None = None

    def widget_values(self) -> dict[str, Any]:
        """Widget key -> value that shows this question."""
        return (widget_values(self.model) if self.model is not None else {}) | dict(self.settings)

    def link_values(self) -> dict[str, str | list[str]]:
        """The link parameters that show this question."""
        model = link_values(self.model) if self.model is not None else {}
        pinned = {PARAMETER: encode_spec(self.against)} if self.against is not None else {}
        settings = {key: link_text(value) for key, value in self.settings.items()}
        return model | settings | pinned | {CHOSEN: self.question}

    def is_shown(self) -> bool:
        """Whether the controls still stand where this question sets them."""
        if self.model is not None and current_model() != self.model:
            return False
        if self.against is not None and pinned_spec(type(self.against)) != self.against:
            return False
        return all(st.session_state.get(key, value) == value for key, value in self.settings.items())


def apply_preset(preset: Preset, number: int) -> None:
    """Set every control to the preset; call it from a widget callback, before the widgets are drawn."""
    forget_model()
    _pin_for(preset)
    st.session_state.update(preset.widget_values())
    let_wait(preset.settings)
    _write_link(preset)
    st.session_state[CHOSEN] = number
    st.session_state[ASKED] = preset.question


def _pin_for(preset: Preset) -> None:
    """Pin the question's A; let go of one that another question pinned, but not of the reader's own."""
    before = st.session_state.pop(PINNED, None)
    if before is not None:
        unpin_text(before)
    if preset.against is not None:
        pin_as_a(preset.against)
        st.session_state[PINNED] = encode_spec(preset.against)


def _write_link(preset: Preset) -> None:
    """For the widgets that this question brings into sight: only those drawn before write themselves into the link."""
    for key, text in preset.link_values().items():
        with contextlib.suppress(StreamlitAPIException):  # it is drawn now and writes its own value
            st.query_params[key] = text


def choose_preset(presets: Sequence[Preset]) -> None:
    """The list of questions of this page."""
    _forget_of_another_page(presets)
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


def _forget_of_another_page(presets: Sequence[Preset]) -> None:
    number, asked = st.session_state.get(CHOSEN), st.session_state.get(ASKED)
    if number is None or asked is None:
        return
    if not 0 <= number < len(presets) or presets[number].question != asked:
        del st.session_state[CHOSEN], st.session_state[ASKED]
        with contextlib.suppress(KeyError, StreamlitAPIException):
            del st.query_params[CHOSEN]


def _chosen(presets: Sequence[Preset]) -> int | None:
    number = st.session_state.get(CHOSEN)
    return number if number is not None and 0 <= number < len(presets) else None


def draw_preset(presets: Sequence[Preset]) -> None:
    """The chosen question with its prediction; what to notice stays folded until asked for."""
    number = _chosen(presets)
    if number is None:
        return
    preset = presets[number]
    st.session_state[ASKED] = preset.question
    if preset.against is not None and pinned_spec(type(preset.against)) == preset.against:
        st.session_state[PINNED] = encode_spec(preset.against)  # also where a link or a page change brought it back
    with st.container(border=True, key="question-card"):
        presenting = bool(st.session_state.get("present"))
        prediction, side = st.columns([2, 1] if presenting else [5, 1], vertical_alignment="center")
        prediction.markdown(preset.prediction)
        with side.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", gap="xsmall"):
            with st.popover("Notice", icon=":material/visibility:", help="What to notice, once you have predicted"):
                st.markdown(preset.notice)
            if presenting:
                _draw_stepper(presets, number)
        if not preset.is_shown():
            _draw_changed(preset, number)


def cover_answer(presets: Sequence[Preset]) -> None:
    """While presenting, the page ends at a chosen question until its answer is uncovered: a room can predict."""
    number = _chosen(presets)
    if number is None or st.session_state.get(SHOWN) == presets[number].question:
        return
    with st.container(height=420, border=True, vertical_alignment="center", horizontal_alignment="center", key="cover"):
        st.markdown("What do you predict?", width="content")
        st.button(
            "Show what PyTorch did",
            key="uncover",
            icon=":material/visibility:",
            type="primary",
            on_click=_uncover,
            args=(presets[number].question,),
        )
    st.stop()


def _uncover(question: str) -> None:
    st.session_state[SHOWN] = question


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
