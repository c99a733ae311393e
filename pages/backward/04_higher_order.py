"""Higher order: Is there a second derivative, and what does it cost?

icon: stacked_line_chart
controls: own
"""

import streamlit as st

from pages.backward.higher_order_controls import current_spec, draw_controls, draw_sections
from pages.backward.higher_order_presets import PRESETS
from pages.backward.higher_order_sections import draw_section
from pages.shared.frame import draw_toolbar, spec_or_stop

section = draw_sections()
with st.sidebar:
    draw_controls(section)
spec = spec_or_stop(lambda: current_spec(section), PRESETS)
exports = draw_toolbar(spec, PRESETS)
draw_section(spec, exports)
