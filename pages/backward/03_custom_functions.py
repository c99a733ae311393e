"""Custom functions: Is my backward right, and when gradcheck says no, why?

icon: function
controls: own
"""

import streamlit as st

from engine.custom_function.spec import CustomFunctionSpec
from pages.backward.custom_functions_controls import current_spec, draw_controls
from pages.backward.custom_functions_details import draw_details
from pages.backward.custom_functions_exports import downloads
from pages.backward.custom_functions_numbers import function_numbers
from pages.backward.custom_functions_picture import draw_picture, draw_verdict
from pages.backward.custom_functions_presets import PRESETS
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec

with st.sidebar:
    draw_controls()
spec = spec_or_stop(current_spec, PRESETS)
exports = draw_toolbar(spec, PRESETS)
found = compute(spec)
pinned = pinned_spec(CustomFunctionSpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned is not None else None
draw_exports(exports, downloads(spec, found))
draw_verdict(spec, found)
draw_picture(spec, found)
earlier = function_numbers(pinned, before) if pinned is not None and before is not None else None
draw_key_numbers(function_numbers(spec, found), earlier)
draw_details(spec, found)
