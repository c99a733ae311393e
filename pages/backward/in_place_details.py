"""Details of a statement: what nodes saved, who wrote, and the graph before and after it."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd
import streamlit as st

from engine import run
from engine.figures.in_place_table import SAVED_COLUMNS, saved_rows, values_text
from engine.figures.in_place_words import grad_fn_changes
from engine.figures.index import index_of
from engine.figures.scene import draw, encode_scene, prepare
from engine.figures.view import GraphView
from engine.graph.spec import Graph
from engine.in_place.results import ProgramRun, Step
from engine.in_place.spec import ProgramSpec
from pages.shared.graph_component import show_graph

GRAPH_HEIGHT = 380
VIEW = GraphView(fold_leaves=False, fold_transposes=False, fold_views=False)


def draw_saved(traced: ProgramRun, step: Step) -> None:
    """Every slot that can be reached from a name."""
    rows = saved_rows(traced, step)
    if not rows:
        st.caption("No node that a name reaches keeps a tensor here: sums, products with a number and views save none.")
        return
    st.dataframe(pd.DataFrame(rows, columns=list(SAVED_COLUMNS)), hide_index=True, width="stretch", height="content")
    st.caption("Read from the raw slots of each node, without unpacking; a Python number that is saved is left out.")


def draw_writes(traced: ProgramRun) -> None:
    """Every call that raised a counter, in order."""
    if not traced.bumps:
        st.caption("No call of this program raised a version counter.")
        return
    rows = [(b.line, b.call, b.name or "without a name", b.before, b.after, b.counter) for b in traced.bumps]
    columns = ["line", "call", "tensor", "before", "after", "counter"]
    st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, width="stretch", height="content")
    st.caption(
        "Seen by a TorchFunctionMode around each statement: inside of `__torch_dispatch__` the bump has not happened "
        "yet."
    )


def draw_graphs(spec: ProgramSpec, place: int) -> None:
    """The graph behind all names before and after a statement, and whose grad_fn changed."""
    traced = run(spec).run
    step = traced.steps[place]
    earlier = traced.steps[place - 1] if place else None
    changes = grad_fn_changes(earlier, step)
    words = "; ".join(f"`{name}`: {_short(first)} → **{_short(second)}**" for name, first, second in changes)
    st.markdown(
        f"grad_fn changed of {words}" if changes else "This statement changes the grad_fn of no tensor that was there."
    )
    if any("CopySlices" in second for _, _, second in changes):
        st.caption(
            "CopySlices is the write of a view seen from its base: backward clears the written part of the gradient, "
            "sends it through the operation that wrote (kept inside of CopySlices), and passes the rest on. The view's "
            "own grad_fn is made anew from the base (AsStridedBackward0, or the view's own operation)."
        )
    for one in traced.passed:
        if traced.nodes[one.node].made_at == step.line:
            st.markdown(
                f"In the backward of line {one.line} this CopySlices received `{values_text(one.received)}` for "
                f"the base and passed `{values_text(one.passed)}` on to what the base was before."
            )
    before, after = st.columns(2, gap="medium")
    for column, title, number in ((before, "Before", earlier.graph if earlier else -1), (after, "After", step.graph)):
        with column:
            st.markdown(f"**{title} line {step.line}**")
            if number < 0 or not len(traced.graphs[number].nodes):
                st.caption("No tensor has a grad_fn.")
            else:
                show_graph(encoded(traced.graphs[number]), key=f"in_place.graph.{title}", height=GRAPH_HEIGHT)


def _short(name: str) -> str:
    return name.removeprefix("torch::autograd::") if len(name) < 60 else "cannot be read"


@lru_cache(maxsize=64)
def encoded(graph: Graph) -> bytes:
    """The scene of a small graph for the canvas."""
    prepared = prepare(graph, VIEW)
    index = index_of(prepared.graph, prepared.folded, prepared.names, {}, prepared.marking.own)
    return encode_scene(draw(prepared, VIEW), index)
