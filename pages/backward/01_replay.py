"""Replay: What happens in backward(), node by node?

icon: slow_motion_video
"""

import streamlit as st

from engine.replay.spec import ReplaySpec
from pages.backward import replay_look
from pages.backward.replay_controls import call_words, current_spec, draw_controls, stop_without_place
from pages.backward.replay_exports import downloads
from pages.backward.replay_flow import draw_flow
from pages.backward.replay_picture import draw_picture
from pages.backward.replay_presets import PRESETS
from pages.backward.replay_tables import draw_accumulation, draw_errors, draw_passes, draw_steps
from pages.backward.replay_view import draw_options
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

HOW_TO_READ = (
    "The engine keeps the nodes that are ready in a queue and takes the one with the highest `sequence_nr` first, so "
    "backward mirrors the forward; an `AccumulateGrad` goes before all others. A node is ready once every edge into "
    "it has brought its gradient, and several that arrive at one input are added on the way. The colour of an edge is "
    "the 2-norm of the gradient that flowed along it, on a logarithmic scale; a gradient that is exactly 0 or not "
    "finite has a colour and a mark of its own. Boxes that have not run yet are faint. Times are those of the recorded "
    "run without what recording itself took; *Plain backward* ran without any hook."
)

toolbar = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="view-row"):
    draw_controls()
    draw_options(comparing=pinned_spec(ReplaySpec) is not None)
    call = st.empty()
with toolbar:
    model = model_or_stop(PRESETS)
    spec = spec_or_stop(lambda: current_spec(model), PRESETS)
    exports = draw_toolbar(spec, PRESETS)
call.markdown(f"`{call_words(spec)}`", width="content")
stop_without_place(spec)
replay = compute(spec)
replay_look.settle(spec)
pinned = pinned_spec(ReplaySpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
compared = pinned if before else None
draw_exports(exports, downloads(spec, replay, compared))
draw_errors(replay)
draw_picture(spec, compared)
for note in replay.notes:
    st.caption(note)
flow, steps, accumulation, passes, explanation = st.tabs(
    ["Gradient over depth", "Steps", "Accumulation, use by use", "Calls and hooks", "How to read this"],
    key="replay.tab",
    on_change="rerun",
)
if flow.open:
    with flow:
        draw_flow(replay, before)
if steps.open:
    with steps:
        draw_steps(spec)
if accumulation.open:
    with accumulation:
        draw_accumulation(replay)
if passes.open:
    with passes:
        draw_passes(replay)
if explanation.open:
    with explanation:
        st.markdown(HOW_TO_READ)
