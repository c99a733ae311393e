"""The autograd graph under one policy: what each box keeps, dropped and runs again."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

import pandas as pd
import streamlit as st

from engine import run
from engine.checkpointing.policy import label_of
from engine.checkpointing.spec import PolicyGraph, PolicyGraphSpec
from engine.figures.checkpointing_scene import recomputed_words, with_policy
from engine.figures.index import GraphIndex, index_of
from engine.figures.node_facts import SLOT_COLUMNS, slot_words, source_words
from engine.figures.reveal import revealed, toggled
from engine.figures.scene import Prepared, Scene, draw, encode_scene, prepare
from engine.figures.units import format_bytes, format_count, shorten
from engine.figures.view import GraphView
from pages.shared.detail import CEILING, DETAIL, READABLE_AREA
from pages.shared.graph_component import show_graph
from pages.shared.jobs import compute_meanwhile, draw_rest
from pages.shared.kept import Kept
from pages.shared.link import look_inside, open_groups, opened_groups
from pages.shared.pin import code_text
from pages.shared.pytorch_words import draw_said

SLOT = "policies.graph"
HEIGHT = 480
KEPT_NODES, KEPT_BYTES = 200_000, 32 << 20
SLOTS_TOLD = 40


class Drawable:
    """The graph under one policy; one thread draws it at a time, because words that were worked out are noted in it."""

    def __init__(self, spec: PolicyGraphSpec) -> None:
        self._spec, self._lock = spec, Lock()

    @property
    def found(self) -> PolicyGraph:
        return run(self._spec)

    @cached_property
    def prepared(self) -> Prepared:
        found = self.found
        types = {call.path: call.type for call in found.modules}
        return prepare(found.graph, GraphView(), types=types, modules=found.modules)

    @cached_property
    def index(self) -> GraphIndex:
        return index_of(self.prepared.graph, self.prepared.folded, self.prepared.names, {})

    def draw(self, view: GraphView) -> tuple[Scene, bytes]:
        """The scene and the same encoded for the canvas."""
        with self._lock:
            scene = with_policy(draw(self.prepared, view), self.found)
            return scene, encode_scene(scene, self.index)

    def reveal(self, view: GraphView, scene: Scene, address: str) -> GraphView | None:
        """`view` with the groups around `address` open."""
        with self._lock:
            return revealed(self.prepared, view, scene, address)[0]


_drawables: Kept[Drawable] = Kept(KEPT_NODES, lambda one: len(one.found.graph.nodes))
_pictures: Kept[tuple[Scene, bytes]] = Kept(KEPT_BYTES, lambda picture: len(picture[1]))


def drawable(spec: PolicyGraphSpec) -> Drawable:
    """The traced graph of a policy."""
    return _drawables.get(spec, lambda: Drawable(spec))


def picture(spec: PolicyGraphSpec, view: GraphView) -> tuple[Scene, bytes]:
    """The scene of a policy's graph and the same encoded for the canvas."""
    key: Any = (spec, view)
    return _pictures.get(key, lambda: drawable(spec).draw(view))


def current_view() -> GraphView:
    """What the link has opened, else what stays readable."""
    return GraphView(
        expanded=opened_groups(), maximum_boxes=DETAIL["balanced"], ceiling_boxes=CEILING, legible_in=READABLE_AREA
    )


def draw_graph(spec: PolicyGraphSpec) -> None:
    """The graph once it is traced; until then the room it will take."""
    found = compute_meanwhile(spec, slot=SLOT)
    if found is None:
        with st.container(height=HEIGHT, border=True, vertical_alignment="center", key="policies.graph.waiting"):
            draw_rest(spec, SLOT)
        return
    if found.error is not None:
        draw_said(f"No graph under {label_of(spec.policy)}", found.error)
        return
    _draw_picture(spec)


@st.fragment
def _draw_picture(spec: PolicyGraphSpec) -> None:
    found = run(spec)
    scene, encoded = picture(spec, current_view())
    st.markdown(headline(spec, found))
    if not scene.boxes:
        st.info("  \n".join(scene.notes) or scene.summary, icon=":material/table_rows:")
        return
    selection = show_graph(
        encoded,
        key="policies.graph",
        height=HEIGHT,
        on_toggle=lambda address: open_groups(toggled(current_view(), scene, address).expanded or ()),
        on_reveal=lambda address: _reveal(spec, scene, address),
    )
    _draw_selected(found, scene, selection.selected or "")
    for note in found.notes:
        st.caption(note)


def headline(spec: PolicyGraphSpec, found: PolicyGraph) -> str:
    """What the picture shows, in Markdown."""
    again = sum(map(bool, found.recomputed))
    return (
        f"**{code_text(label_of(spec.policy))}**: :gray[{format_bytes(found.kept_bytes)} kept for backward, "
        f"{format_count(found.dropped_slots)} slots dropped, operations of {format_count(again)} of "
        f"{format_count(len(found.graph.nodes))} nodes run again. Click a box for its slots.]"
    )


def _reveal(spec: PolicyGraphSpec, scene: Scene, address: str) -> None:
    opened = drawable(spec).reveal(current_view(), scene, address)
    if opened is not None:
        open_groups(opened.expanded or ())
        look_inside("")


def _draw_selected(found: PolicyGraph, scene: Scene, address: str) -> None:
    members = scene.members.get(address, ())
    if not members:
        return
    again = recomputed_words(found, members)
    with st.container(border=True, key="policies.selected"):
        st.markdown(f"**`{code_text(shorten(address, 100))}`**  :gray[{again or 'nothing runs again'}]")
        nodes = [found.graph.nodes[number] for number in members[:SLOTS_TOLD]]
        rows = [(node.name, *slot_words(slot)) for node in nodes for slot in node.saved][:SLOTS_TOLD]
        if rows:
            st.dataframe(pd.DataFrame(rows, columns=["node", *SLOT_COLUMNS]), hide_index=True, width="stretch")
        else:
            st.caption("It saved nothing.")
        if len(nodes) == 1 and nodes[0].source:
            st.code(source_words(nodes[0].source), language="python")
