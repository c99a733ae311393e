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
from pages.shared.bound import bind
from pages.shared.choice import let_wait
from pages.shared.link import forget_model, link_text
from pages.shared.model_controls import current_model, link_values, widget_values
from pages.shared.opened_link import asked_of_link, expect_unused
from pages.shared.page_end import end_page
from pages.shared.pin import PARAMETER, encode_spec, pin_as_a, pinned_spec, unpin_text

CHOSEN = "question"
"""Number of the chosen question in the list of its page."""
ASKED = "question-asked"
"""Its text: the number means another question on another page."""
SHOWN = "question-shown"
"""The question whose answer the presenter has uncovered."""
BESIDE_A_QUESTION = ("present", "embed", "embed_options")
"""Parameters of a link that set nothing a question sets."""
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


def ask_by_link(presets: Sequence[Preset]) -> None:
    """A link that someone typed has a question and no settings: it gets the question's. Call it before any widget.

    The beginning of a question is enough, in any case, where only one of the page begins so.
    """
    asked = asked_of_link()
    texts = asked.get(CHOSEN, [])
    number = question_number(presets, texts[0]) if len(texts) == 1 else None
    if number is None:
        return
    if asked.keys() - {CHOSEN, *BESIDE_A_QUESTION}:
        expect_unused(presets[number].link_values())
    else:
        asked[CHOSEN] = [presets[number].question]
        apply_preset(presets[number], number)


def question_number(presets: Sequence[Preset], text: str) -> int | None:
    """The one question that begins with `text`, as people type it; None where none or several do."""
    begun = _begun(presets, text)
    exact = [number for number in begun if _typed(presets[number].question) == _typed(text)]
    found = exact or begun
    return found[0] if len(found) == 1 else None


def _begun(presets: Sequence[Preset], text: str) -> list[int]:
    """Numbers of the questions that begin with `text`, as people type it."""
    return [number for number, preset in enumerate(presets) if _typed(preset.question).startswith(_typed(text))]


def _why_none(presets: Sequence[Preset], text: str) -> str:
    match len(_begun(presets, text)):
        case 0:
            return "no question of this page begins so"
        case 1:
            return "beside other settings a question is named in full"
        case several:
            return f"{several} questions of this page begin so"


def _typed(question: str) -> str:
    """Letters and figures only, in one case."""
    return "".join(letter for letter in question.casefold() if letter.isalnum())


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
        placeholder="Start from a question …",
        label_visibility="collapsed",
        on_change=_apply_chosen,
        args=(tuple(presets),),
        **bind(CHOSEN, named=lambda number: presets[number].question, why=lambda text: _why_none(presets, text))
        | {"persist_state": "page"},
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
    end_page()


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
