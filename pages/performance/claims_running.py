"""One row, always as high: the button that runs what is quick, what runs now, and Stop."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.claims.catalogue import BY_KEY
from pages.performance.claims_queue import ask_for, job_running, quick_claims, stop_all, waiting_count
from pages.performance.claims_results import Known

POLL_S = 0.4


def draw_running(results: Sequence[Known]) -> None:
    """Progress while a claim runs, else what was not run yet."""
    running, quick = job_running() is not None, quick_claims()
    with st.container(border=True, key="claims.running-row", horizontal=True, vertical_alignment="center"):
        st.button(
            "Run all quick ones",
            icon=":material/playlist_play:",
            key="claims.run-quick",
            disabled=running or not quick,
            on_click=ask_for,
            args=(quick,),
        )
        with st.container(width="stretch"):
            if running:
                _draw_progress()
            else:
                slow = sum(not known.claim.quick and known.verdict is None for known in results)
                st.caption(not_run_words(len(quick), slow))
        st.button("Stop", icon=":material/stop_circle:", key="claims.stop", disabled=not running, on_click=stop_all)


def not_run_words(quick: int, slow: int) -> str:
    """How many claims of either sort were not run at the sizes they stand at."""
    if not quick and not slow:
        return "Every claim was run at the sizes it stands at."
    parts = [f"{quick} of a few seconds"] if quick else []
    parts += [f"{slow} that {'takes' if slow == 1 else 'take'} longer, by the button on the row"] if slow else []
    return f"Not run at the sizes they stand at: {' and '.join(parts)}."


@st.fragment(run_every=POLL_S)
def _draw_progress() -> None:
    current = job_running()
    if current is None:
        return
    key, job = current
    if job.state == "done":
        st.rerun()
    place = f"waiting, {job.position} ahead" if job.state == "queued" else job.stage or "running"
    behind = f" · {waiting_count()} more to run" if waiting_count() else ""
    words = f"**{BY_KEY[key].title}** · {place} · {job.elapsed_s:.0f} s{behind}"
    st.progress(min(max(job.fraction, 0.0), 1.0), text=words)
