"""Storage and views: Which bytes does a tensor read, and which operations copied them?

icon: grid_on
controls: own
"""

import streamlit as st

from engine.storage.spec import LayoutSpec
from pages.shared.frame import draw_exports, draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.tensors.storage_and_views_presets import PRESETS
from pages.tensors.storage_cards import draw_attributes, draw_cards, draw_refusal
from pages.tensors.storage_controls import current_spec, draw_controls
from pages.tensors.storage_cost import draw_cost
from pages.tensors.storage_exports import downloads
from pages.tensors.storage_numbers import address_words, key_numbers
from pages.tensors.storage_picture import draw_picture, draw_shown
from pages.tensors.storage_view_check import TAB, draw_view_check, draw_view_verdict, refusal_in_words
from pages.tensors.storage_write import draw_write

HOW_TO_READ = (
    "A tensor is a storage (bytes in a row) and a rule to read it: element `[i, j]` lies at `storage_offset + i * "
    "stride[0] + j * stride[1]`. A *view* changes the rule and reads the same storage; a *copy* makes a new one. Cells "
    "are coloured by address: a smooth ramp along a row means that its neighbours lie side by side in memory. Point at "
    "a cell to see where it lies, point at memory to see every index that reads it. Lines in the storage are 64 bytes "
    "apart, what a processor fetches at once."
)
TABS = ("Every attribute", TAB, "Write through a view", "Cost of non-contiguity", "How to read this")

with st.sidebar:
    draw_controls()
spec = spec_or_stop(current_spec, PRESETS)
exports = draw_toolbar(spec, PRESETS)
trace = compute(spec)
pinned = pinned_spec(LayoutSpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
draw_exports(exports, downloads(spec, trace))

ended_at = len(trace.layouts) - 1
why = refusal_in_words(spec.steps[ended_at], trace.layouts[-1]) if 0 <= ended_at < len(spec.steps) else ""
draw_refusal(spec, trace, why)
draw_view_verdict(trace)
draw_shown()
draw_picture(spec)
draw_key_numbers(key_numbers(trace), key_numbers(before) if before else None)
if trace.layouts and (words := address_words(trace.layouts[-1])):
    st.caption(words)
draw_cards(spec, trace)
attributes, view_check, write, cost, explanation = st.tabs(TABS, key="storage.details", on_change="rerun")
if attributes.open:
    with attributes:
        draw_attributes(trace)
if view_check.open:
    with view_check:
        draw_view_check(spec, trace)
if write.open:
    with write:
        draw_write(trace)
if cost.open:
    with cost:
        draw_cost(spec, trace)
if explanation.open:
    with explanation:
        st.markdown(HOW_TO_READ)
