"""Autograd graph: What did PyTorch record, and what does it keep for backward?

icon: account_tree
"""

import streamlit as st

from engine import run
from engine.graph.spec import GraphSpec
from pages.graph.autograd_graph_presets import PRESETS
from pages.graph.classic_view import draw_classic
from pages.graph.comparison_view import draw_headline
from pages.graph.exports import downloads
from pages.graph.interactive_view import draw_interactive
from pages.graph.numbers_row import key_numbers
from pages.graph.pictures import comparison
from pages.graph.table_view import draw_leaf_table, draw_modules, draw_node_table
from pages.graph.view_options import draw_options
from pages.graph.what_torch_said import draw_error, draw_warnings
from pages.shared.bound import bind, none_but
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop
from pages.shared.jobs import compute_beside, compute_early, draw_rest
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec

HOW_TO_READ = (
    "Each box is a node that autograd recorded during the forward; backward starts at the loss and follows the "
    "edges. An edge carries a gradient from output number `output_nr` of one node to an input of the next; a stub "
    "is an empty slot, a constant or an input that needs no gradient. Transposes and gradient accumulators are "
    "folded into the box that uses them, and modules into one box each: a double click opens it. *Saved* is what "
    "the node keeps alive until backward; *dropped* is what a checkpoint will recompute."
)
VIEWS = {"interactive": "Interactive", "classic": "Classic torchviz", "table": "Table"}

asked = GraphSpec(model=model_or_stop(PRESETS))
exports = draw_toolbar(asked, PRESETS)
spec = compute_early(asked)
traced = run(spec)
pinned = pinned_spec(GraphSpec)
before = compute_beside(pinned, "A", slot="pinned") if pinned else None
compared = pinned if before else None
draw_exports(exports, downloads(spec, traced, compared))

with st.container(horizontal=True, vertical_alignment="center", key="view-row"):
    view = st.segmented_control(
        "Picture",
        list(VIEWS),
        format_func=VIEWS.__getitem__,
        default="interactive",
        required=True,
        label_visibility="collapsed",
        **bind("view", named=VIEWS.__getitem__, why=none_but(VIEWS.values())),
    )
    if view == "interactive":
        draw_options(comparing=compared is not None)
    draw_rest(asked)
    if compared and before:
        draw_headline(comparison(spec, compared), before, traced)
draw_error(traced)
if view == "classic":
    draw_classic(spec.model)
elif view == "table":
    draw_node_table(spec)
else:
    draw_interactive(spec, compared)
if view != "interactive":
    draw_key_numbers(key_numbers(traced), key_numbers(before) if before else None)
draw_warnings(traced)
leaves, modules, explanation = st.tabs(
    ["Leaves and gradients", "Saved by module", "How to read this"], key="details", on_change="rerun"
)
if leaves.open:
    with leaves:
        draw_leaf_table(traced)
if modules.open:
    with modules:
        draw_modules(traced, before)
if explanation.open:
    with explanation:
        st.markdown(HOW_TO_READ)
