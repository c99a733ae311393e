"""Claims board: Which claims of two articles hold on this machine, and under which conditions?

icon: fact_check
controls: own
"""

import streamlit as st

from pages.performance.claims_board import draw_board
from pages.performance.claims_controls import draw_controls, selected_claim, spec_of
from pages.performance.claims_exports import board_downloads
from pages.performance.claims_presets import PRESETS
from pages.performance.claims_queue import advance
from pages.performance.claims_results import known_results
from pages.performance.claims_running import draw_running
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop

with st.sidebar:
    draw_controls()
claim = selected_claim()
spec = spec_or_stop(lambda: spec_of(claim), PRESETS)
exports = draw_toolbar(spec, PRESETS)
running = st.container(key="claims.running-place")
advance(claim)
results = known_results()
draw_exports(exports, board_downloads(spec, results))
draw_board(claim, results)
with running:
    draw_running(results)
