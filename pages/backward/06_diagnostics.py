"""Diagnostics: Why is .grad None, zero or NaN?

icon: troubleshoot
controls: own
"""

import streamlit as st

from engine.diagnostics.spec import DiagnosisSpec, ProgramSpec
from pages.backward.diagnostics_board import draw_board_and_trace
from pages.backward.diagnostics_controls import current_spec, draw_controls, draw_subject
from pages.backward.diagnostics_details import draw_details
from pages.backward.diagnostics_exports import downloads
from pages.backward.diagnostics_headline import draw_headline
from pages.backward.diagnostics_numbers import numbers_of
from pages.backward.diagnostics_presets import PRESETS
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec

subject = draw_subject()
with st.sidebar:
    draw_controls(subject)
spec = spec_or_stop(lambda: current_spec(subject), PRESETS)
exports = draw_toolbar(spec, PRESETS)
diagnosis = compute(spec)
draw_exports(exports, downloads(spec, diagnosis))
pinned = pinned_spec(DiagnosisSpec) if isinstance(spec, DiagnosisSpec) else pinned_spec(ProgramSpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned is not None else None
draw_headline(diagnosis)
draw_board_and_trace(spec, diagnosis, before)
draw_key_numbers(numbers_of(diagnosis), numbers_of(before) if before is not None else None)
draw_details(spec, diagnosis)
