"""What the reader looks at: a step, a box or a wire of the picture, kept over reruns and, for the step, in the link."""

from __future__ import annotations

import streamlit as st

from engine.replay.spec import ReplaySpec
from pages.shared.bound import read_parameter
from pages.shared.link import select_node
from pages.shared.pin import encode_spec

STEP = "step"
"""Link parameter: the step that the picture shows, as it is numbered in the recording."""
_KNOWN, _START, _ASKED = "replay.step", "replay.start", "replay.asked"
_LOOKED, _SPEC = "replay.looked", "replay.spec"


def settle(spec: ReplaySpec) -> None:
    """Forget step and look of another recording; the first recording of a window starts where its link says."""
    text, before = encode_spec(spec), st.session_state.get(_SPEC)
    st.session_state[_SPEC] = text
    if before not in (None, text):
        forget()
    linked = read_parameter(STEP)
    if linked != st.session_state.get(_KNOWN, ""):
        st.session_state[_KNOWN] = linked
        st.session_state[_START] = int(linked) if linked.isdecimal() and len(linked) < 9 else -1
        if linked.isdecimal():
            st.session_state.setdefault(_LOOKED, (STEP, st.session_state[_START]))


def forget() -> None:
    """Nothing is looked at, and the picture shows the end."""
    for key in (_KNOWN, _START, _LOOKED):
        st.session_state.pop(key, None)
    st.query_params.pop(STEP, None)


def note(what: str, value: str | int | None) -> None:
    """What the picture says the reader turned to last: ("step", number), ("selected", address), ("wire", addresses)."""
    if what == STEP and isinstance(value, int):
        _know(value)
    if what == "selected":
        select_node(value if isinstance(value, str) else "")
    if value is not None:
        st.session_state[_LOOKED] = (what, value)


def go_to(step: int) -> None:
    """Have the picture show a step and look at it; call it from a widget callback."""
    _know(step)
    st.session_state[_START] = step
    st.session_state[_ASKED] = start()[1] + 1
    st.session_state[_LOOKED] = (STEP, step)


def looked() -> tuple[str, str | int]:
    """("step", number), ("selected", address), ("wire", two addresses, one a line), or ("", "") for nothing."""
    found: tuple[str, str | int] = st.session_state.get(_LOOKED, ("", ""))
    return found


def start() -> tuple[int, int]:
    """The step that the picture was last sent to (-1: the end), and how often it was sent anywhere."""
    return int(st.session_state.get(_START, -1)), int(st.session_state.get(_ASKED, 0))


def _know(step: int) -> None:
    st.session_state[_KNOWN] = st.query_params[STEP] = str(step)
