"""Sentences beside a picture: what it leaves out and why, and what it shows."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.arrange import Arranged
from engine.figures.units import format_count, shorten
from engine.figures.view import GraphView
from engine.figures.wires import Wired
from engine.graph.spec import Graph

WHAT_TO_DO = "Run it with grad mode on and let an input or a parameter require grad to see a graph"


def notes_of(graph: Graph, view: GraphView, arranged: Arranged, is_inside: bool, unknown: int = 0) -> tuple[str, ...]:
    """What the reader has to know about the graph and what of it is not drawn.

    `unknown` groups were to be opened that are not in this graph.
    """
    notes = list(graph.notes)
    notes += [f"{root.name}: {root.note}" for root in graph.roots if root.node is None and root.note]
    refused = arranged.refused
    if refused:
        limit = max(view.ceiling_boxes, view.maximum_boxes)
        notes.append(f"{refused} more groups stay closed: at most {limit} boxes are drawn. Close some first.")
    return (*notes, *_unknown(unknown, view), *arranged.notes, *_around(view, is_inside, arranged.wired))


def _unknown(count: int, view: GraphView) -> tuple[str, ...]:
    if not count:
        return ()
    groups = "1 group of this link is" if count == 1 else f"{format_count(count)} groups of this link are"
    instead = "; open is what fits" if view.expanded is None else ""
    return (f"{groups} not in this graph{instead}.",)


def _around(view: GraphView, found: bool, wired: Wired) -> tuple[str, ...]:
    """What a picture of one group's inside leaves out."""
    if not view.inside:
        return ()
    if not found:
        return (f"There is no group {shorten(view.inside, 80)} in this graph; all of it is drawn.",)
    crossing = f"{format_count(wired.entering)} edges that enter it and {format_count(wired.leaving)} that leave it"
    return (f"Only the inside of {shorten(view.inside, 80)} is drawn, without {crossing}.",)


def summary_of(graph: Graph, roles: Sequence[str]) -> str:
    """One sentence for who cannot see the picture; `roles` of its boxes."""
    if not graph.nodes:
        why = next((root.note for root in graph.roots if root.note), "no output has a grad_fn")
        return f"Nothing to draw: {why}. {WHAT_TO_DO}"
    edges = int((graph.edge_targets >= 0).sum())
    if not roles:
        return f"Autograd graph of {len(graph.nodes)} nodes and {edges} edges, too large to draw in time"
    groups = sum(role == "group" for role in roles)
    nodes = sum(role == "node" for role in roles)
    return (
        f"Autograd graph of {len(graph.nodes)} nodes and {edges} edges, "
        f"drawn as {nodes} operations and {groups} closed groups"
    )
