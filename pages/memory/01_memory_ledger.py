"""Memory ledger: What keeps these bytes alive?

icon: account_balance
"""

import streamlit as st

from engine.memory.spec import MemorySpec
from pages.memory.memory_ledger_controls import current_spec, draw_moment, draw_run_controls, draw_step
from pages.memory.memory_ledger_exports import downloads, title_of
from pages.memory.memory_ledger_presets import PRESETS
from pages.memory.memory_ledger_view import before_at, draw_ledger, draw_levels, moment_or_last
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

toolbar = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="memory-run"):
    draw_run_controls()
    with st.container(width=240):
        levels = draw_levels()
with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="memory-moment"):
    moment = draw_moment()
    step_place = st.container(width=90)
with toolbar:
    model = model_or_stop(PRESETS)
    spec = spec_or_stop(lambda: current_spec(model), PRESETS)
    exports = draw_toolbar(spec, PRESETS)
trace = compute(spec)
with step_place:
    step = draw_step(trace)
pinned = pinned_spec(MemorySpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
event, told = moment_or_last(trace, moment, step)
title = title_of(spec, moment, step)
old = before_at(None if before is None else (before, moment, step))
draw_exports(exports, downloads(spec, trace, event, levels, title, old))
draw_ledger(spec, trace, event, told, levels, title, old=old)
