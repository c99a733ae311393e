"""Timing: Which of two is faster, is it beyond doubt, and do they compute the same?

icon: timer
controls: own
"""

import streamlit as st

from engine.timing.spec import AllocationSpec, TimingSpec
from pages.performance.timing_allocation import draw_allocation
from pages.performance.timing_controls import current_spec, draw_controls, draw_section, same_section
from pages.performance.timing_exports import allocation_downloads, timing_downloads
from pages.performance.timing_pair import draw_pair
from pages.performance.timing_presets import PRESETS
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

section = draw_section()
with st.sidebar:
    draw_controls(section)
spec = spec_or_stop(lambda: current_spec(section), PRESETS)
exports = draw_toolbar(spec, PRESETS, pinned="pinned")
if isinstance(spec, AllocationSpec):
    allocations = compute(spec)
    draw_exports(exports, allocation_downloads(spec, allocations))
    before = pinned_spec(AllocationSpec)
    draw_allocation(spec, allocations, compute_beside(before, "The pinned run", slot="pinned") if before else None)
else:
    timing = compute(spec)
    draw_exports(exports, timing_downloads(spec, timing))
    kept = pinned_spec(TimingSpec)
    if kept and not same_section(kept, spec):
        kept = None
    draw_pair(spec, timing, compute_beside(kept, "The pinned run", slot="pinned") if kept else None)
