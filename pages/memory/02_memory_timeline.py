"""Memory timeline: When is the peak, and what held it?

icon: area_chart
"""

import streamlit as st

from engine.memory.spec import MemorySpec
from pages.memory.memory_ledger_controls import current_spec, draw_run_controls
from pages.memory.memory_timeline_controls import (
    draw_look,
    draw_picture_choice,
    draw_stretch,
    draw_view,
    shown_of,
)
from pages.memory.memory_timeline_exports import downloads
from pages.memory.memory_timeline_presets import PRESETS
from pages.memory.memory_timeline_view import draw_run
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

toolbar = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="memory-run"):
    draw_run_controls()
with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="memory-view"):
    picture = draw_picture_choice()
    stretch_place, look_place = st.container(width=155), st.container(width=290)
    across, stacking = draw_view()
with toolbar:
    model = model_or_stop(PRESETS)
    spec = spec_or_stop(lambda: current_spec(model), PRESETS)
    exports = draw_toolbar(spec, PRESETS)
trace = compute(spec)
with stretch_place:
    step = draw_stretch(trace)
with look_place:
    look, event = draw_look(trace)
pinned = pinned_spec(MemorySpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
shown = shown_of(trace, picture, across, stacking, step, look, event)
draw_exports(exports, downloads(spec, trace, shown))
draw_run(spec, trace, shown, None if pinned is None or before is None else (pinned, before), step)
