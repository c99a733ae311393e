"""Broadcasting and einsum: Which sizes stretch, which index is summed, and what does a Python loop cost?

icon: grid_goldenratio
controls: own
"""

import streamlit as st

from engine.broadcasting.spec import BroadcastSpec, EinsumSpec
from engine.vectorisation.spec import LadderSpec
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute
from pages.tensors.broadcasting_comparison import beside
from pages.tensors.broadcasting_controls import current_spec, draw_controls, draw_section
from pages.tensors.broadcasting_einsum import draw_einsum
from pages.tensors.broadcasting_exports import broadcast_downloads, einsum_downloads, ladder_downloads
from pages.tensors.broadcasting_ladder import draw_ladder
from pages.tensors.broadcasting_presets import PRESETS
from pages.tensors.broadcasting_section import draw_broadcast

section = draw_section()
with st.sidebar:
    draw_controls(section)
spec = spec_or_stop(lambda: current_spec(section), PRESETS)
exports = draw_toolbar(spec, PRESETS)
if isinstance(spec, BroadcastSpec):
    outcome = compute(spec)
    draw_exports(exports, broadcast_downloads(spec, outcome))
    pinned = beside(BroadcastSpec)
    draw_broadcast(spec, outcome, pinned[1] if pinned else None)
elif isinstance(spec, EinsumSpec):
    einsum = compute(spec)
    draw_exports(exports, einsum_downloads(spec, einsum))
    draw_einsum(spec, einsum, beside(EinsumSpec))
else:
    ladder = compute(spec)
    draw_exports(exports, ladder_downloads(spec, ladder))
    before = beside(LadderSpec)
    draw_ladder(spec, ladder, before[1] if before else None)
