"""The interactive picture, and what is selected in it."""

from __future__ import annotations

import msgspec
import streamlit as st

from engine import run
from engine.figures.reveal import toggled
from engine.figures.scene import Scene
from engine.figures.units import shorten
from engine.figures.view import GraphView
from engine.graph.spec import GraphSpec
from pages.graph.comparison_view import draw_changes, draw_selected_change
from pages.graph.node_details import draw_selection
from pages.graph.numbers_row import key_numbers
from pages.graph.pictures import comparison, drawable, picture
from pages.graph.table_view import draw_node_table
from pages.graph.view_options import current_view
from pages.shared.detail import PICTURE_HEIGHT
from pages.shared.graph_component import show_graph
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.link import (
    arriving_node,
    forget_opened_groups,
    go_to_node,
    look_inside,
    note_click,
    open_groups,
    selected_node,
    tell_of_node,
    told_of_node,
)


@st.fragment
def draw_interactive(spec: GraphSpec, pinned: GraphSpec | None) -> None:
    """Picture, key numbers and the selected node; a click reruns only this."""
    traced = run(spec)
    arrived, why_not = _arrive(spec, pinned)
    scene, encoded = picture(spec, pinned, current_view(), arrived)
    if why_not:
        st.warning(f"The node of this link cannot be shown: {why_not}", icon=":material/location_off:")
    elif told_of_node():
        st.info(told_of_node(), icon=":material/zoom_out_map:")
    if len(traced.graph.nodes) and not scene.boxes:
        _draw_table_instead(spec, scene)
        return
    selection = show_graph(
        encoded,
        key="graph",
        height=PICTURE_HEIGHT,
        on_toggle=lambda address: _toggle(scene, address),
        on_reveal=lambda address: _reveal(spec, pinned, scene, address),
    )
    selected = _selected(selection.selected)
    if pinned is not None:
        draw_changes(comparison(spec, pinned), lambda address: _go_to(spec, pinned, scene, address))
    draw_key_numbers(key_numbers(traced), key_numbers(run(pinned)) if pinned else None)
    if pinned is None or not draw_selected_change(comparison(spec, pinned), scene, run(pinned), selected):
        draw_selection(traced, scene, selected, on_look_inside=look_inside)


def _arrive(spec: GraphSpec, pinned: GraphSpec | None) -> tuple[str, str]:
    """The node that an opened link asks for, with the groups around it opened; ("", why) when it is not there."""
    address, is_new = arriving_node()
    if not address:
        return "", ""
    view = current_view()
    scene = picture(spec, pinned, view, address)[0] if is_new else None
    if scene is not None and address in scene.members:
        return address, ""
    revealed, why_not = drawable(spec, pinned, view).reveal(view, scene, address)
    if revealed is None:
        return "", _why_hidden(spec, pinned, view, address) or why_not if address == selected_node() else ""
    if is_new:
        _open(revealed)
        tell_of_node(address, why_not)
    return address, ""


def _why_hidden(spec: GraphSpec, pinned: GraphSpec | None, view: GraphView, address: str) -> str:
    """What to switch on for an address that only run A has; "" when that would not show it either."""
    if pinned is None or view.show_removed:
        return ""
    with_ghosts = msgspec.structs.replace(view, show_removed=True)
    found, _ = drawable(spec, pinned, with_ghosts).reveal(with_ghosts, None, address)
    only_in_a = f"only A has {shorten(address, 80)}. Switch on *Draw removed nodes as ghosts* under *View*."
    return only_in_a if found is not None else ""


def _selected(clicked: str | None) -> str | None:
    """What is selected: a box that was clicked just now, else the node of the link."""
    note_click(clicked or "")
    return selected_node() or None


def _toggle(scene: Scene, address: str) -> None:
    open_groups(toggled(current_view(), scene, address).expanded or ())


def _reveal(spec: GraphSpec, pinned: GraphSpec | None, scene: Scene, address: str) -> None:
    view = current_view()
    revealed, words = drawable(spec, pinned, view).reveal(view, scene, address)
    if revealed is not None:
        _open(revealed)
        tell_of_node(address, words)


def _go_to(spec: GraphSpec, pinned: GraphSpec | None, scene: Scene, address: str) -> None:
    """Select a node that need not be in the picture yet."""
    _reveal(spec, pinned, scene, address)
    go_to_node(address)


def _open(view: GraphView) -> None:
    if view.expanded is None:
        forget_opened_groups()
    else:
        open_groups(view.expanded)
    look_inside(view.inside)


def _draw_table_instead(spec: GraphSpec, scene: Scene) -> None:
    st.info("  \n".join(scene.notes) or scene.summary, icon=":material/table_rows:")
    draw_node_table(spec)
