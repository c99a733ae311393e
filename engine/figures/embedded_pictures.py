"""What a file holds of a graph to be explored without the app: the picture as it is, and the inside of its groups.

Layouts cannot be computed there, so every group that can be reached has its own picture, made beforehand; shallow
groups first, until one of the limits is reached.
"""

from __future__ import annotations

import base64
import gzip
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from engine.figures.index import GraphIndex, index_of
from engine.figures.node_facts import SLOT_COLUMNS, NodeFacts, node_facts, node_word
from engine.figures.replay_scene import with_scale
from engine.figures.replay_track import ReplayTrack
from engine.figures.scene import Prepared, Scene, draw, encode_scene
from engine.figures.units import format_bytes
from engine.figures.view import GraphView
from engine.graph.spec import Edge, Graph, Leaf

INSIDE_BOXES = 60
"""Most boxes the inside of a group opens onto by itself."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a file may hold. `visits` bounds the time: every picture looks at all nodes of the graph once."""

    bytes: int = 20_000_000
    boxes: int = 6000
    visits: int = 2_000_000


class Embedded(msgspec.Struct, frozen=True, kw_only=True):
    """Pictures as base64 of gzip: `pictures[0]` is the view itself, `inside` maps a group's address to its number.

    `facts` are those of every node drawn in one of them, `left_out` why some groups have no picture ("" when all do).
    """

    pictures: tuple[str, ...]
    inside: dict[str, int]
    facts: str
    left_out: str

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.pictures)) + len(self.facts)


def embed(
    prepared: Prepared,
    view: GraphView,
    scene: Scene,
    leaves: Sequence[Leaf] = (),
    limits: Limits | None = None,
    track: ReplayTrack | None = None,
) -> Embedded:
    """`scene` is `prepared` drawn as `view`. The same input gives the same bytes."""
    limits = limits or Limits()
    scenes, left_out = _insides(prepared, view, scene, limits)
    kinds = {leaf.name: leaf.kind for leaf in leaves}
    index = index_of(prepared.graph, prepared.folded, prepared.names, kinds, prepared.marking.own)
    pictures, inside, kept = [compressed(_first(scene, index, track))], {}, [scene]
    size = len(pictures[0])
    for address, drawn in scenes.items():
        # What is the same in every picture is taken from the first one.
        packed = compressed(encode_scene(msgspec.structs.replace(drawn, modules=())))
        size += len(packed)
        if size > limits.bytes:
            left_out = _reason(format_bytes(limits.bytes))
            break
        inside[address] = len(pictures)
        pictures.append(packed)
        kept.append(drawn)
    facts = compressed(msgspec.json.encode(_facts(prepared, kept, leaves)))
    return Embedded(pictures=tuple(pictures), inside=inside, facts=facts, left_out=left_out)


def _first(scene: Scene, index: GraphIndex, track: ReplayTrack | None) -> bytes:
    """The picture that has what all others take from it."""
    return encode_scene(scene if track is None else with_scale(scene, track), index, track)


def compressed(content: bytes) -> str:
    """gzip in base64, the same every time; browsers open it by themselves."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def _reason(limit: str) -> str:
    return f"a file holds at most {limit}, and others came first"


def _insides(prepared: Prepared, view: GraphView, scene: Scene, limits: Limits) -> tuple[dict[str, Scene], str]:
    """Insides of closed groups, breadth first, then of frames; and why some are missing."""
    found: dict[str, Scene] = {}
    boxes = len(scene.boxes)
    closed, frames = deque(_of_role(scene, "group")), deque(_of_role(scene, "frame"))
    while closed or frames:
        address = (closed or frames).popleft()
        if address in found:
            continue
        if (len(found) + 1) * len(prepared.graph.nodes) > limits.visits and found:
            return found, _reason(f"{len(found)} groups of a graph this large")
        inside = msgspec.structs.replace(
            view,
            inside=address,
            expanded=None,
            legible_in=None,
            maximum_boxes=min(view.maximum_boxes, INSIDE_BOXES),
        )
        drawn = draw(prepared, inside)
        boxes += len(drawn.boxes)
        if boxes > limits.boxes:
            return found, _reason(f"{limits.boxes} boxes")
        found[address] = drawn
        closed += _of_role(drawn, "group")
        frames += _of_role(drawn, "frame")
    return found, ""


def _of_role(scene: Scene, role: str) -> Iterator[str]:
    return (box.address for box in scene.boxes if box.role == role)


def _facts(prepared: Prepared, scenes: Sequence[Scene], leaves: Sequence[Leaf]) -> dict[str, Any]:
    """Facts of every drawn node, and per picture which nodes each of its boxes stands for."""
    drawn = [{one: scene.members.get(one, ()) for one in _of_role(scene, "node")} for scene in scenes]
    wanted = sorted({node for members in drawn for ids in members.values() for node in ids})
    home: dict[int, int] = {}
    for number, members in enumerate(drawn):
        for ids in members.values():
            for node in ids:
                home.setdefault(node, number)
    return {
        "columns": SLOT_COLUMNS,
        "fields": NodeFacts.__struct_fields__,
        "nodes": list(_told(prepared, wanted, {leaf.name: leaf for leaf in leaves})),
        "home": list(home.items()),
        "members": drawn,
    }


def _told(prepared: Prepared, wanted: Sequence[int], leaves: Mapping[str, Leaf]) -> Iterator[NodeFacts]:
    graph, chosen = prepared.marking.own, set(wanted)
    out: dict[int, list[Edge]] = {node: [] for node in wanted}
    users: dict[int, list[int]] = {node: [] for node in wanted}
    named = set(wanted)
    for edge in graph.edges:
        if edge.source in chosen:
            out[edge.source].append(edge)
            named |= {edge.target} if edge.target is not None else set()
        if edge.target in chosen:
            users[edge.target].append(edge.source)
            named.add(edge.source)
    words = _words(graph, named)
    for node in wanted:
        used = list(dict.fromkeys(users[node]))
        yield node_facts(graph.nodes[node], prepared.names[node], out[node], used, words, leaves)


def _words(graph: Graph, named: set[int]) -> dict[int, str]:
    return {node: node_word(graph.nodes[node]) for node in named}
