"""In-place and versions: Which write breaks backward, and why?

icon: edit_note
controls: own
"""

import streamlit as st

from engine.in_place.spec import FamilySpec, ProgramSpec, UpdateSpec
from pages.backward.in_place_controls import current_spec, draw_controls, draw_section
from pages.backward.in_place_exports import family_downloads, program_downloads, update_downloads
from pages.backward.in_place_family import draw_family
from pages.backward.in_place_presets import PRESETS
from pages.backward.in_place_program import draw_program
from pages.backward.in_place_update import draw_update
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

section = draw_section()
with st.sidebar:
    draw_controls(section)
spec = spec_or_stop(lambda: current_spec(section), PRESETS)
exports = draw_toolbar(spec, PRESETS)
if isinstance(spec, ProgramSpec):
    traced = compute(spec)
    draw_exports(exports, program_downloads(spec, traced))
    other = pinned_spec(ProgramSpec)
    has_other = other is not None and compute_beside(other, "A", slot="pinned") is not None
    draw_program(spec, other if has_other else None)
elif isinstance(spec, FamilySpec):
    family = compute(spec)
    draw_exports(exports, family_downloads(spec, family))
    second = pinned_spec(FamilySpec)
    draw_family(spec, family, compute_beside(second, "A", slot="pinned") if second is not None else None)
else:
    updated = compute(spec)
    draw_exports(exports, update_downloads(spec, updated))
    third = pinned_spec(UpdateSpec)
    draw_update(updated, compute_beside(third, "A", slot="pinned") if third is not None else None)
