"""The section on derivatives: their curves, the graph that each order records, and what other arguments give."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import msgspec
import pandas as pd
import streamlit as st

from engine import run
from engine.figures.higher_order_charts import TITLES, derivative_chart, node_chart
from engine.figures.higher_order_words import agreement_words, doubt_words
from engine.figures.index import index_of
from engine.figures.reveal import toggled
from engine.figures.scene import Scene, draw, encode_scene, prepare
from engine.figures.units import MINUS
from engine.figures.view import GraphView
from engine.higher_order.results import Derivatives, Order, Setting
from engine.higher_order.spec import DerivativeSpec
from pages.backward.higher_order_numbers import numbers_of
from pages.shared.fields import common_arguments
from pages.shared.graph_component import show_graph
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import encode_spec
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

PICTURE, SHOWN_ORDER, OPENED = "higher.picture", "higher.shown", "higher.opened"
PICTURES = ("Curves", "Recorded graph")
GRAPH_HEIGHT = 430
CHART = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}
VIEW = GraphView(maximum_boxes=200, fold_leaves=True)
TABS = ("Every order", "Other arguments", "How to read this")
HOW_TO_READ = (
    "`autograd.grad(f(x), x, create_graph=True)` gives f′ *with a graph of its own*, because the backward is recorded "
    "like any forward; another `grad` of it gives f″. The bars count the nodes that each order left; powers stay at a "
    "few, products of functions grow with every order. Lines are autograd's; rings are a second method: by hand where "
    "the formula is known, else nested `torch.func.jvp`, which records no graph. The curves always use "
    "`create_graph=True` and zero where there is no path; the point and the table use the arguments chosen on the left."
)
NUMBERS = ("autograd", "by hand", "nested jvp", "differences (estimated)")
WORDS = {"None": "None", "error": "raises", "not reached": "not reached"}


def draw_derivatives(
    spec: DerivativeSpec, found: Derivatives, before: tuple[DerivativeSpec, Derivatives] | None
) -> None:
    """Curves and node counts, or the graph of one order; numbers; the orders one by one."""
    _draw_stop(found)
    if told := [words for one in found.orders if (words := doubt_words(one, TITLES[one.order], spec.dtype))]:
        st.warning("\n\n".join(told[-2:]), icon=":material/rule:")
    if found.orders:
        _draw_picture(spec, found)
    draw_key_numbers(numbers_of(spec, found), numbers_of(*before) if before else None)
    tabs = st.tabs(TABS, key="higher.details", on_change="rerun")
    draws: tuple[Callable[[Derivatives], None], ...] = (
        partial(_draw_orders, dtype=spec.dtype),
        _draw_settings,
        _draw_explanation,
    )
    for tab, show in zip(tabs, draws, strict=True):
        if tab.open:
            with tab:
                show(found)


def _draw_stop(found: Derivatives) -> None:
    if found.error is not None:
        draw_said("PyTorch could not compute this function", found.error)
    for one in found.orders:
        if one.error is not None:
            draw_said(f"Order {one.order} raises", one.error)
        elif one.outcome == "None":
            st.info(
                f"Order {one.order} is None: allow_unused=True says so where no path leads to x.",
                icon=":material/block:",
            )


@st.fragment
def _draw_picture(spec: DerivativeSpec, found: Derivatives) -> None:
    """A change of picture reruns only this."""
    graphs = [TITLES[one.order] for one in found.orders if one.graph is not None]
    with st.container(horizontal=True, vertical_alignment="center"):
        chosen = st.segmented_control(
            "Picture", PICTURES, default=PICTURES[0], required=True, label_visibility="collapsed",
            **common_arguments(PICTURE, ""),
        )  # fmt: skip
        if chosen == PICTURES[1] and graphs:
            shown = (
                st.segmented_control(
                    "Graph of", graphs, default=graphs[-1], key=SHOWN_ORDER, label_visibility="collapsed"
                )
                or graphs[-1]
            )
    if chosen == PICTURES[1]:
        if graphs:
            _draw_graph(spec, TITLES.index(shown))
        else:
            st.info("Nothing was recorded: the function does not depend on x or a.", icon=":material/account_tree:")
        return
    curves, bars = st.columns([3, 1], gap="small")
    with curves:
        st.plotly_chart(derivative_chart(found, spec.x, shown_theme()), key="higher.curves", config=CHART)
    with bars:
        st.plotly_chart(node_chart(found, shown_theme()), key="higher.nodes", config=CHART)


def _draw_graph(spec: DerivativeSpec, order: int) -> None:
    scene, encoded = picture(spec, order, _opened(spec, order))
    show_graph(
        encoded,
        key="higher.graph",
        height=GRAPH_HEIGHT,
        on_toggle=lambda address: _toggle(spec, order, scene, address),
    )


def _opened(spec: DerivativeSpec, order: int) -> tuple[str, ...] | None:
    """Groups that were opened or closed by hand in this very graph; None before that."""
    which, groups = st.session_state.get(OPENED, (None, None))
    return groups if which == (encode_spec(spec), order) else None


def _toggle(spec: DerivativeSpec, order: int, scene: Scene, address: str) -> None:
    view = toggled(msgspec.structs.replace(VIEW, expanded=_opened(spec, order)), scene, address)
    st.session_state[OPENED] = ((encode_spec(spec), order), view.expanded or ())


@lru_cache(maxsize=64)
def picture(spec: DerivativeSpec, order: int, opened: tuple[str, ...] | None = None) -> tuple[Scene, bytes]:
    """The graph recorded behind one order, and the same encoded for the canvas; `opened` are its open groups."""
    view = msgspec.structs.replace(VIEW, expanded=opened)
    graph = run(spec).orders[order].graph
    if graph is None:
        raise ValueError(f"Order {order} of {spec.text!r} recorded no graph. Choose a lower order.")
    kinds = {"x": "input", "a": "input"}
    prepared = prepare(graph, view, kinds=kinds)
    scene = draw(prepared, view)
    index = index_of(prepared.graph, prepared.folded, prepared.names, kinds, prepared.marking.own)
    return scene, encode_scene(scene, index)


def order_rows(found: Derivatives, dtype: str) -> pd.DataFrame:
    """One row per order: autograd's value, the second methods and whether they agree, and what was recorded."""
    return pd.DataFrame(
        {
            "order": [TITLES[one.order] for one in found.orders],
            "autograd": [_value(one) for one in found.orders],
            "by hand": [_by_hand(one) for one in found.orders],
            "nested jvp": [_number(one.forward_mode) for one in found.orders],
            "differences (estimated)": [_number(one.finite_difference) for one in found.orders],
            "methods": [agreement_words(one, dtype) for one in found.orders],
            "nodes": [one.nodes for one in found.orders],
            "grad_fn": [one.grad_fn or "none" for one in found.orders],
            "formula": [one.closed_form_text for one in found.orders],
        }
    )


def _value(one: Order | Setting) -> str:
    return WORDS.get(one.outcome, "") or _number(one.value)


def _by_hand(one: Order) -> str:
    return "no derivative" if one.closed_form_text and one.closed_form is None else _number(one.closed_form)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}".replace("-", MINUS)


def _draw_orders(found: Derivatives, dtype: str) -> None:
    right = {name: st.column_config.TextColumn(alignment="right") for name in NUMBERS}
    st.dataframe(order_rows(found, dtype), hide_index=True, width="stretch", column_config=right)
    last = found.orders[-1] if found.orders else None
    if last is not None and last.closed_form_text and last.closed_form is None:
        st.caption("x is at a kink: there is no derivative, and PyTorch returns one of its subgradients.")


def _draw_settings(found: Derivatives) -> None:
    for one in found.settings:
        code, outcome = st.columns([2, 3], vertical_alignment="center")
        code.code(one.code, language="python")
        outcome.markdown(f"**{_value(one)}**" if one.error is None else f"**{one.error.type}**")
        if one.error is not None:
            outcome.text(one.error.message)
    st.caption("The last order asked for; the orders below it were computed with create_graph=True.")


def _draw_explanation(found: Derivatives) -> None:
    st.markdown(HOW_TO_READ)
