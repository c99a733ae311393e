"""Profiler: What does this table say, and why are rows negative?

icon: table_chart_view
"""

import streamlit as st

from engine.profiler.spec import ProfileSpec, ProfilingCostSpec
from pages.memory.profiler_controls import current_spec, draw_controls
from pages.memory.profiler_cost import cost_numbers, draw_cost, draw_cost_table
from pages.memory.profiler_details import draw_details, draw_explained
from pages.memory.profiler_exports import cost_downloads, profile_downloads
from pages.memory.profiler_numbers import key_numbers
from pages.memory.profiler_picture import draw_picture
from pages.memory.profiler_presets import PRESETS
from pages.memory.profiler_row import draw_row_choice
from pages.memory.profiler_said import draw_error, draw_what_applies
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec

toolbar = st.container()
view = draw_controls()
with toolbar:
    spec = spec_or_stop(lambda: current_spec(view), PRESETS)
    exports = draw_toolbar(spec, PRESETS)
if isinstance(spec, ProfilingCostSpec):
    cost = compute(spec)
    draw_exports(exports, cost_downloads(spec, cost))
    asked_before = pinned_spec(ProfilingCostSpec)
    cost_before = compute_beside(asked_before, "A", slot="pinned") if asked_before else None
    draw_error(cost.error)
    draw_cost(cost)
    draw_key_numbers(cost_numbers(cost), cost_numbers(cost_before) if cost_before else None)
    draw_cost_table(cost)
else:
    profiled = compute(spec)
    draw_exports(exports, profile_downloads(spec, profiled))
    pinned = pinned_spec(ProfileSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned else None
    draw_error(profiled.error)
    draw_what_applies(spec)
    picture, numbers = st.container(key="profiler.picture"), st.container(key="profiler.numbers")
    place = draw_row_choice(profiled)
    draw_explained(profiled, place)
    draw_details(profiled, before, place)
    with picture:
        draw_picture(view, profiled, place)
    with numbers:
        draw_key_numbers(key_numbers(profiled), key_numbers(before) if before else None)
