"""Gradient scaling: When does the scale move, and which step is skipped?

icon: trending_up
controls: own
"""

import streamlit as st

from engine.grad_scaler.spec import GradScalerSpec
from pages.memory.gradient_scaling_controls import current_spec, draw_controls
from pages.memory.gradient_scaling_details import draw_details
from pages.memory.gradient_scaling_exports import downloads
from pages.memory.gradient_scaling_numbers import numbers_of
from pages.memory.gradient_scaling_picture import draw_picture
from pages.memory.gradient_scaling_presets import PRESETS
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec

with st.sidebar:
    draw_controls()
spec = spec_or_stop(current_spec, PRESETS)
exports = draw_toolbar(spec, PRESETS)
found = compute(spec)
draw_exports(exports, downloads(spec, found))
draw_picture(spec, found)
pinned = pinned_spec(GradScalerSpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned is not None else None
beside = numbers_of(pinned, before) if pinned is not None and before is not None else None
draw_key_numbers(numbers_of(spec, found), beside)
draw_details(spec, found)
