"""Operators: What does a compiled operator win, what bounds it, and is it right?

icon: memory
controls: own
"""

import streamlit as st

from engine.operator_ladder.spec import OperatorLadderSpec, RooflineSpec
from pages.performance.operators_controls import current_spec, draw_controls
from pages.performance.operators_exports import downloads
from pages.performance.operators_ladder import draw_ladder
from pages.performance.operators_presets import PRESETS
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

with st.sidebar:
    draw_controls()
spec = spec_or_stop(current_spec, PRESETS)
exports = draw_toolbar(spec, PRESETS)
ladder = compute(spec)
roofline = compute_beside(RooflineSpec(dtype=spec.dtype, threads=spec.threads), "The roofline", slot="roofline")
pinned = pinned_spec(OperatorLadderSpec)
if pinned and pinned.operator != spec.operator:
    st.caption(f":material/keep: A is `{pinned.operator}`, another operator: no differences to it are shown here.")
    pinned = None
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
draw_exports(exports, downloads(spec, ladder, roofline))
draw_ladder(spec, ladder, roofline, (pinned, before) if pinned and before else None)
