"""What is selected in the picture: a node with its slots, or a group of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from engine.figures.node_facts import (
    edge_words,
    input_words,
    node_word,
    owner_words,
    slot_state,
    slot_version,
    source_words,
)
from engine.figures.scene import Scene
from engine.figures.units import format_bytes, format_shape
from engine.graph.columns import Integers
from engine.graph.spec import Edge, Graph, Node, Saved, Traced


def draw_selection(
    traced: Traced, scene: Scene, address: str | None, on_look_inside: Callable[[str], None] | None = None
) -> None:
    """The node or group at `address`, or what to do to see one; `on_look_inside(address)` draws a group alone."""
    graph = traced.graph
    with st.container(border=True, key="selection"):
        members = scene.members.get(address or "", ())
        if not members:
            st.caption("Click a box to see what it saved and where it came from; double click a module to open it.")
        elif any(box.address == address and box.role != "node" for box in scene.boxes):
            draw_group(graph, address or "", members)
            if on_look_inside is not None:
                st.button(
                    "Draw only this group", icon=":material/zoom_in_map:", on_click=on_look_inside, args=(address,)
                )
        else:
            draw_node(graph, graph.nodes[members[0]], address or "")
            _draw_folded(graph, [graph.nodes[node] for node in members[1:]])


def _draw_folded(graph: Graph, folded: Sequence[Node]) -> None:
    for node in folded:
        with st.expander(f"Folded into this box: {node.name} {node.variable}"):
            draw_node(graph, node)


def draw_node(graph: Graph, node: Node, address: str = "") -> None:
    """Name, source line, incoming gradients, saved slots, attributes and edges of one node."""
    st.markdown(node_title(node, address))
    _draw_origin(node)
    _draw_saved(node.saved)
    edges, attributes = st.columns(2, gap="large")
    with edges:
        _draw_inputs(node)
        _draw_edges(graph, node)
    with attributes:
        _draw_attributes(node)


def node_title(node: Node, address: str) -> str:
    """Markdown: the node under the address that links and search use, where known, then what the walk numbered it."""
    return f"**`{address or node.name}`**  :gray[{node.kind.replace('_', ' ')} · id {node.id} in the walk]"


def _draw_origin(node: Node) -> None:
    facts = [f"sequence_nr {node.sequence_nr}" if node.sequence_nr is not None else "no sequence_nr"]
    if node.module:
        facts.append(f"module `{node.module}`")
    if node.variable:
        facts.append(f"accumulates into `{node.variable}`.grad")
    facts += [f"hook `{hook}`" for hook in node.hooks]
    st.caption(" · ".join(facts))
    if node.source:
        st.code(source_words(node.source), language="python")


def _draw_saved(saved: Sequence[Saved]) -> None:
    st.markdown("Saved for backward")
    if not saved:
        st.caption("Nothing: its derivative needs no tensor.")
        return
    st.dataframe(saved_table(saved), hide_index=True, width="stretch")


def saved_table(saved: Sequence[Saved]) -> pd.DataFrame:
    """One row per slot: what it holds, how large, whose storage it is, and whether it can still be read."""
    return pd.DataFrame(
        {
            "slot": [slot.name for slot in saved],
            "shape": [format_shape(slot.shape) for slot in saved],
            "dtype": [slot.dtype for slot in saved],
            "bytes": [slot.bytes for slot in saved],
            "which tensor": [owner_words(slot) for slot in saved],
            "storage": [slot.storage_id for slot in saved],
            "version": [slot_version(slot) for slot in saved],
            "state": [slot_state(slot) for slot in saved],
        }
    )


def _draw_attributes(node: Node) -> None:
    st.markdown("Attributes")
    if not node.attributes:
        st.caption("None.")
        return
    rows = {"attribute": [], "value": []}  # type: dict[str, list[str]]
    for attribute in node.attributes:
        rows["attribute"].append(attribute.name)
        rows["value"].append(attribute.value or attribute.unavailable)
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def _draw_inputs(node: Node) -> None:
    st.markdown("Incoming gradients")
    for number, metadata in enumerate(node.inputs):
        st.caption(input_words(number, metadata))


def _draw_edges(graph: Graph, node: Node) -> None:
    st.markdown("next_functions: where its own gradients go")
    out = edges_of(graph, graph.edge_sources, node.id)
    st.dataframe(
        pd.DataFrame({"slot": [e.output_nr for e in out], "goes to": [_target(graph, e) for e in out]}),
        hide_index=True,
        width="stretch",
    )
    users = [graph.node_names[edge.source] for edge in edges_of(graph, graph.edge_targets, node.id)]
    st.caption(
        f"Its gradient comes from {', '.join(users[:6])}{' …' if len(users) > 6 else ''}" if users else "A root."
    )


def edges_of(graph: Graph, ends: Integers, node: int) -> list[Edge]:
    """The edges whose end in the column `ends` is `node`, without reading the others."""
    return [graph.edges[number] for number in np.flatnonzero(ends == node).tolist()]


def _target(graph: Graph, edge: Edge) -> str:
    return edge_words(edge, "" if edge.target is None else node_word(graph.nodes[edge.target]))


def draw_group(graph: Graph, address: str, members: Sequence[int]) -> None:
    """A folded box: how many nodes of which kind it holds and what they save."""
    kept = format_bytes(storage_bytes(graph, members))
    st.markdown(f"**{address}**  :gray[{len(members):,} nodes, {kept} of storage saved, open it by double click]")
    names = Counter(map(graph.node_names.__getitem__, members)).most_common()
    table = pd.DataFrame({"operation": [name for name, _ in names], "nodes": [count for _, count in names]})
    st.dataframe(table, hide_index=True, width="content", height=260)


def storage_bytes(graph: Graph, members: Sequence[int]) -> int:
    """Bytes of the storages that these nodes saved, each storage once."""
    slots = graph.slots
    of_members = np.zeros(len(graph.nodes), bool)
    of_members[list(members)] = True
    kept = np.flatnonzero(of_members[slots.nodes] & (slots.storage_ids >= 0))
    _, first = np.unique(slots.storage_ids[kept], return_index=True)
    return int(slots.storage_bytes[kept[first]].sum())
