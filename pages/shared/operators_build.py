"""The compiled operators on a page: started when not built, progress while they are, and why when they are not."""

from __future__ import annotations

import streamlit as st

from engine.operators.background import start_build, state_or_start
from engine.operators.state import OperatorsState, build_log

__all__ = ["build_log", "draw_build_progress", "operators_or_reason"]

POLL_S = 0.5
STANDING_IN = "Until then PyTorch's own operations compute the same in their place: right values, other times."
ONLY_REFERENCE = "PyTorch's own operations compute the same in their place: right values, other times."


def operators_or_reason() -> str:
    """ "" when compiled operators run here, else why not in one line; starts the build where it can be done.

    What a job computed before the operators were built is cached under its spec: let a measured spec hold the reason,
    or compute only when it is "".
    """
    state = state_or_start()
    return "" if state.kind == "built" else f"{state.kind}: {state.detail}"


def draw_build_progress() -> None:
    """Nothing when built; a bar while building, the compiler's first complaint and its log after a failure."""
    state = state_or_start()
    if state.kind == "building":
        _draw_bar()
    elif state.kind == "failed":
        _draw_failure(state)
    elif state.kind != "built":
        st.info(f"**The operators are not compiled here**: {state.detail}. {ONLY_REFERENCE}", icon=":material/build:")


@st.fragment(run_every=POLL_S)
def _draw_bar() -> None:
    state = state_or_start()
    if state.kind != "building":
        st.rerun()
    share = state.done / state.total if state.total else 0.0
    with st.container(border=True, key="operators-build"):
        st.progress(min(share, 1.0), text=f"Compiling the operators, once: {state.detail}")
        st.caption(STANDING_IN)


def _draw_failure(state: OperatorsState) -> None:
    with st.container(border=True, key="operators-failed"):
        st.error("**The operators could not be compiled**", icon=":material/build:")
        st.text(state.detail)
        st.caption(ONLY_REFERENCE)
        with st.expander("The end of the compiler's log"):
            st.code(state.log_tail, language=None)
        st.button("Build again", icon=":material/refresh:", key="build-again", on_click=start_build)
