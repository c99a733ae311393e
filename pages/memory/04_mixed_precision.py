"""Mixed precision: What does autocast cast, keep and change?

icon: swap_vert
"""

import streamlit as st

from pages.memory.mixed_precision_controls import (
    current_spec,
    draw_controls,
    draw_left_out,
    draw_section,
    timing_spec,
)
from pages.memory.mixed_precision_exports import downloads
from pages.memory.mixed_precision_numbers import map_numbers
from pages.memory.mixed_precision_picture import draw_map
from pages.memory.mixed_precision_presets import PRESETS
from pages.memory.mixed_precision_sections import DRAW, HOW_TO_READ
from pages.memory.mixed_precision_time import SLOT, draw_rounds, draw_time
from pages.memory.mixed_precision_words import draw_errors_of_runs
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec

toolbar, choices = st.container(), st.container(gap="small")
with choices:
    # Drawn before they are read: a link gives a widget its value when it is drawn.
    draw_controls()
with toolbar:
    model = model_or_stop(PRESETS)
    spec = spec_or_stop(lambda: current_spec(model), PRESETS)
    exports = draw_toolbar(spec, PRESETS)
with choices:
    draw_left_out(model)
found = compute(spec)
pinned = pinned_spec(type(spec))
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
draw_exports(exports, downloads(spec, found))
draw_errors_of_runs(found)
draw_map(spec, found)
numbers = st.container()
section = draw_section()
timing = None
if section == "Time":
    draw_rounds()
    asked = timing_spec(spec)
    with numbers:
        measuring = st.empty()
        with measuring.container():
            draw_key_numbers(map_numbers(found), map_numbers(before) if before else None)
    timing = compute(asked, slot=SLOT, height=320)
    measuring.empty()
with numbers:
    draw_key_numbers(map_numbers(found, timing), map_numbers(before) if before else None)
if timing is not None:
    draw_time(spec, found, asked, timing)
else:
    DRAW[section](spec, found)
with st.expander("How to read this", key="amp.explanation"):
    st.markdown(HOW_TO_READ)
