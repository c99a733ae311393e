"""What an opened link asks for and cannot have, in one line each: what is shown instead, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.shared.bound import BOUND, READ, Bound, bound_controls

ASKED, REFUSED, PAGE, EXPECTED = "link.asked", "link.refused", "link.page", "link.expected"
NOT_IN_SIGHT = "no control in sight has this name"
LONGEST_TEXT = 60
MOST_TOLD = 4
STREAMLITS_OWN = ("embed", "embed_options")


@dataclass(frozen=True)
class Refusal:
    """What was asked, the value that the control has instead, and why; None: there is no such control."""

    asked: str
    instead: str | None
    why: str


def note_opened(page: str) -> bool:
    """Keep what the link asks for when a page is opened; whether it was opened just now."""
    if st.session_state.get(PAGE) == page:
        return False
    st.session_state[PAGE] = page
    st.session_state[ASKED] = {name: st.query_params.get_all(name) for name in st.query_params}
    st.session_state[REFUSED], st.session_state[BOUND] = {}, {}
    st.session_state[READ], st.session_state[EXPECTED] = set(), set()
    return True


def expect_unused(settings: Mapping[str, str | list[str]]) -> None:
    """A question may set what other settings of its own leave out: of a link that says the same it is not told."""
    asked = asked_of_link()
    same = {name for name, text in settings.items() if asked.get(name) == ([text] if isinstance(text, str) else text)}
    st.session_state[EXPECTED] = same


def answer_link(name: str, shown: str, why: str) -> None:
    """A page could not do what a parameter of the opened link asks, which no control owns: told once."""
    texts = asked_of_link().pop(name, None)
    if texts is not None and why:
        st.session_state[REFUSED][name] = Refusal(", ".join(texts), shown, why)


def asked_of_link() -> dict[str, list[str]]:
    """Parameter -> texts that the opened link has and no control has answered yet."""
    asked: dict[str, list[str]] = st.session_state.setdefault(ASKED, {})
    return asked


def draw_refused(place: DeltaGenerator, *, whole: bool) -> None:
    """Tell what of the link could not be had, as long as it stands; `whole` when the page was drawn to its end."""
    refused: dict[str, Refusal] = st.session_state.setdefault(REFUSED, {})
    _judge(refused, whole)
    if refused:
        lines = [_words(name, refusal) for name, refusal in list(refused.items())[:MOST_TOLD]]
        if len(refused) > MOST_TOLD:
            lines.append(f"{len(refused) - MOST_TOLD} more settings of the link could not be had either.")
        place.warning("  \n".join(lines), icon=":material/link_off:")


def _judge(refused: dict[str, Refusal], whole: bool) -> None:
    asked, drawn, expected = asked_of_link(), bound_controls(), st.session_state.get(EXPECTED, set())
    for name in [name for name in asked if name in drawn and name in st.session_state]:
        refused.pop(name, None)
        refusal = _refusal(asked.pop(name), st.session_state[name], drawn[name])
        if refusal is not None and not (name in expected and refusal.asked == refusal.instead):
            refused[name] = refusal
    for name in [name for name, refusal in refused.items() if _has_moved(name, refusal, drawn)]:
        del refused[name]
    known = st.session_state.get(READ, set()).union(STREAMLITS_OWN, expected)
    for name in asked.keys() - known if whole else ():
        refused[name] = Refusal(", ".join(asked[name]), None, NOT_IN_SIGHT)


def _refusal(texts: list[str], value: Any, control: Bound) -> Refusal | None:
    shown = value_texts(value, control)
    asked = ", ".join(texts)
    if not is_same(texts, value, shown):
        return Refusal(asked, ", ".join(shown), control.why(asked))
    left_out = control.left_out and value != control.default
    return Refusal(asked, ", ".join(shown), control.left_out) if left_out else None


def _has_moved(name: str, refusal: Refusal, drawn: dict[str, Bound]) -> bool:
    if name not in drawn or name not in st.session_state:
        return ", ".join(st.query_params.get_all(name)) != refusal.asked
    return ", ".join(value_texts(st.session_state[name], drawn[name])) != refusal.instead


def value_texts(value: Any, control: Bound) -> list[str]:
    """A control's value as the link has it."""
    if value is None:
        return []
    if isinstance(value, bool):
        return [str(value).lower()]
    return [control.named(each) for each in value] if isinstance(value, (list, tuple)) else [control.named(value)]


def is_same(texts: Sequence[str], value: Any, shown: Sequence[str]) -> bool:
    """Whether a control shows what the link asks for, which people write in more than one way."""
    if list(texts) == list(shown) or (not any(texts) and not any(shown)):
        return True
    if isinstance(value, bool):
        return [text.lower() for text in texts] == list(shown)
    try:
        return isinstance(value, (int, float)) and [float(text) for text in texts] == [float(value)]
    except ValueError:
        return False


def _words(name: str, refusal: Refusal) -> str:
    shown = f", shown is {_code(refusal.instead)}" if refusal.instead else ""
    if refusal.instead == refusal.asked:
        shown = ", which is left out"
    return f"The link asks for {_code(f'{name}={refusal.asked}')}{shown}: {refusal.why.rstrip('.')}."


def _code(text: str) -> str:
    return f"`{text.replace('`', 'ˋ')[:LONGEST_TEXT]}{'…' if len(text) > LONGEST_TEXT else ''}`"
