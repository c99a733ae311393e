"""Number formats: What does this value become?

icon: pin
controls: own
"""

import streamlit as st

from engine.number_format.spec import NumberFormatSpec, RunningSumSpec
from pages.memory.number_formats_controls import current_spec, draw_controls, draw_section
from pages.memory.number_formats_exports import format_downloads, sum_downloads
from pages.memory.number_formats_presets import PRESETS
from pages.memory.number_formats_sums import draw_sums
from pages.memory.number_formats_value import draw_value
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

section = draw_section()
with st.sidebar:
    draw_controls(section)
spec = spec_or_stop(lambda: current_spec(section), PRESETS)
exports = draw_toolbar(spec, PRESETS)
if isinstance(spec, NumberFormatSpec):
    found = compute(spec)
    draw_exports(exports, format_downloads(spec, found))
    pinned = pinned_spec(NumberFormatSpec)
    draw_value(spec, found, compute_beside(pinned, "A", slot="pinned") if pinned else None)
else:
    sums = compute(spec)
    draw_exports(exports, sum_downloads(spec, sums))
    other = pinned_spec(RunningSumSpec)
    draw_sums(spec, sums, compute_beside(other, "A", slot="pinned") if other else None)
