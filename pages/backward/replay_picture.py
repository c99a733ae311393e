"""The picture that plays, and below it the numbers of what the reader turned to."""

from __future__ import annotations

import streamlit as st

from engine import run
from engine.figures.reveal import toggled
from engine.figures.scene import Scene
from engine.replay.spec import ReplaySpec
from pages.backward import replay_look
from pages.backward.replay_details import draw_details
from pages.backward.replay_numbers import key_numbers
from pages.backward.replay_pictures import drawable, picture
from pages.backward.replay_view import PICTURE_HEIGHT, current_view
from pages.shared.graph_component import show_graph
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.link import arriving_node, look_inside, open_groups, tell_of_node


@st.fragment
def draw_picture(spec: ReplaySpec, pinned: ReplaySpec | None) -> None:
    """Picture, key numbers and details; a click reruns only this."""
    replay = run(spec)
    scene, encoded = picture(spec, pinned, current_view(), _arrived(spec, pinned), replay_look.start())
    if len(replay.graph.nodes) and not scene.boxes:
        st.info("  \n".join(scene.notes) or scene.summary, icon=":material/table_rows:")
    else:
        show_graph(
            encoded,
            key="replay",
            height=PICTURE_HEIGHT,
            on_toggle=lambda address: open_groups(toggled(current_view(), scene, address).expanded or ()),
            on_reveal=lambda address: _reveal(spec, pinned, scene, address),
            on_look=replay_look.note,
        )
    draw_key_numbers(key_numbers(replay), key_numbers(run(pinned)) if pinned else None)
    draw_details(replay, scene)


def _arrived(spec: ReplaySpec, pinned: ReplaySpec | None) -> str:
    """The node that an opened link asks for, with the groups around it opened; "" when it is not there."""
    address, is_new = arriving_node()
    if not address:
        return ""
    view = current_view()
    scene = picture(spec, pinned, view, address)[0] if is_new else None
    if scene is not None and address in scene.members:
        return address
    found, _ = drawable(spec, pinned, view).reveal(view, scene, address)
    if found is None:
        return ""
    if is_new:
        open_groups(found.expanded or ())
        look_inside(found.inside)
    return address


def _reveal(spec: ReplaySpec, pinned: ReplaySpec | None, scene: Scene, address: str) -> None:
    view = current_view()
    found, words = drawable(spec, pinned, view).reveal(view, scene, address)
    if found is not None:
        open_groups(found.expanded or ())
        look_inside(found.inside)
        tell_of_node(address, words)
