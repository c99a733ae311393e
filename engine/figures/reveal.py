"""From an address to the picture that shows it: which groups have to be open for a node, a leaf or a group."""

from __future__ import annotations

import msgspec
import numpy as np

from engine.figures.hierarchy import Item, groups_of
from engine.figures.scene import Prepared, Scene, draw
from engine.figures.units import shorten
from engine.figures.view import GraphView


def node_at(prepared: Prepared, address: str) -> int | None:
    """The node of a stable address, also when its box is in a closed group; None for groups and what is not there."""
    for name in (address, address.rpartition("~")[0]):
        if name in prepared.names:
            return prepared.names.index(name)
    return None


def revealed(prepared: Prepared, view: GraphView, scene: Scene | None, address: str) -> tuple[GraphView | None, str]:
    """`view` with what is open in `scene` and the groups around `address`; (None, why) when there is no such thing.

    Without `scene` only the groups that `view` names are open besides. A view of the inside of a group that the address
    is not in becomes one of the whole graph, with a sentence that says so, and with what is open there.
    """
    found = _place(prepared, address)
    if found is None:
        return (
            None,
            f"{shorten(address, 80) or 'The empty address'} is not in this graph: another model or setting made it.",
        )
    position, group = found
    around = group.parent if group is not None else _innermost(prepared.tree, position)
    root = groups_of(prepared.tree).get(view.inside) if view.inside else None
    words = ""
    if view.inside and (root is None or not root.first <= position < root.last):
        words = f"{shorten(address, 80)} is not inside of {shorten(view.inside, 80)}; all of the graph is drawn."
        view = msgspec.structs.replace(view, inside="")
        scene = draw(prepared, view)
    opened = list(scene.expanded if scene is not None else view.expanded or ())
    if around is not None and around is not prepared.tree:
        opened = [*(name for name in opened if name != around.address), around.address]
    return msgspec.structs.replace(view, expanded=tuple(opened)), words


def _place(prepared: Prepared, address: str) -> tuple[int, Item | None] | None:
    """Position in the forward order, and the group where the address is one's."""
    node = node_at(prepared, address)
    if node is not None:
        return _position(prepared, node), None
    group = groups_of(prepared.tree).get(address)
    return None if group is None else (group.first, group)


def _position(prepared: Prepared, node: int) -> int:
    """Where the box that shows `node` is in the forward order; of a leaf, the one that uses it first."""
    folded, graph = prepared.folded, prepared.graph
    host = folded.host[node]
    if host != -1:
        return folded.order.index(host)
    edges = np.flatnonzero(graph.edge_targets == node).tolist()
    boxes = {folded.uses.get(edge, folded.host[int(graph.edge_sources[edge])]) for edge in edges}
    return min(folded.order.index(box) for box in boxes)


def _innermost(root: Item, position: int) -> Item:
    """The innermost group around a position."""
    inner: Item | None = root
    while inner is not None:
        root = inner
        inner = next((group for group in root.groups if group.first <= position < group.last), None)
    return root


def toggled(view: GraphView, scene: Scene, address: str) -> GraphView:
    """The view after opening a closed group, or closing an open one, of `scene`."""
    if address in scene.expanded:  # with what is open inside: a named group opens all around it
        frames = [box for box in scene.boxes if box.role == "frame"]
        at = next(i for i, box in enumerate(frames) if box.address == address)
        shut = {box.address for box in frames[at:] if frames[at].first <= box.first and box.last <= frames[at].last}
        return msgspec.structs.replace(view, expanded=tuple(a for a in scene.expanded if a not in shut))
    return msgspec.structs.replace(view, expanded=(*scene.expanded, address))
