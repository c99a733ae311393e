"""The map: dtypes as lanes, the calls along them; a click chooses the call whose operations are listed."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from engine import run
from engine.figures.mixed_precision_chart import HEIGHT, chosen_step, track_chart
from engine.figures.mixed_precision_track import Track, step_words, track_of
from engine.figures.mixed_precision_words import calls_sentence, memory_sentence
from engine.mixed_precision.spec import AutocastMap, AutocastSpec
from pages.memory.mixed_precision_controls import BACKWARD, FOLDS, SHOWN, STEP
from pages.shared.theme import shown_theme

CHART = "amp.chart"
PRESENTED = 1.2


@lru_cache(maxsize=32)
def _track(spec: AutocastSpec, backward: bool, fold: bool | None) -> Track:
    return track_of(run(spec), spec.dtype, backward=backward, fold=fold)


def shown_track(spec: AutocastSpec) -> Track:
    """The track as the controls ask for it, of a run that is already computed."""
    fold = FOLDS.get(str(st.session_state.get(SHOWN, "as fits")))
    return _track(spec, bool(st.session_state.get(BACKWARD, False)), fold)


def draw_map(spec: AutocastSpec, found: AutocastMap) -> None:
    """The chart, and in a line each what it comes to."""
    track = shown_track(spec)
    if not track.steps:
        st.info("No call with a floating point result was recorded.", icon=":material/do_not_disturb_on:")
        return
    height = round(HEIGHT * (PRESENTED if st.session_state.get("present") else 1))
    st.plotly_chart(
        track_chart(track, shown_theme(), height=height, selected=_selected(len(track.steps))),
        key=CHART,
        on_select=lambda: _choose(len(track.steps)),
        selection_mode="points",
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
    )
    st.markdown(f"{calls_sentence(found)} {memory_sentence(found)}")
    folded = " Calls are folded by module; bars are as tall as their share of calls." if track.folded else ""
    left_out = f" Calls that only view memory are left out: {track.views}." if track.views else ""
    if folded or left_out:
        st.caption(f"{folded}{left_out}".strip())


def _choose(count: int) -> None:
    st.session_state[STEP] = chosen_step(st.session_state.get(CHART), count)


def _selected(count: int) -> int | None:
    number = st.session_state.get(STEP)
    return number if isinstance(number, int) and 0 <= number < count else None


def draw_chosen(spec: AutocastSpec) -> None:
    """What the clicked step says of itself; without one, how to choose one."""
    track = shown_track(spec)
    number = _selected(len(track.steps))
    if number is None:
        st.caption("A click on a bar of the map tells of that step here.")
        return
    first, *rest = step_words(track.steps[number])
    with st.container(border=True, key="amp-chosen"):
        st.text(first)
        st.text(" · ".join(rest))
