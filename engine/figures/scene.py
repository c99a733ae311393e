"""A graph as a picture: boxes, frames and wires with places, words and colours; what the canvas and exports draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from engine.figures.arrange import arrange
from engine.figures.box_words import Marker, Text
from engine.figures.colours import Colour, Colouring, choose_colours, gradient_norms
from engine.figures.comparison import Compared
from engine.figures.compound import Picture
from engine.figures.edge_labels import usual_dtype, wire_label
from engine.figures.fold import Folded, FoldToggles, addresses, fold
from engine.figures.hierarchy import Item, groups_of, inside
from engine.figures.index import GraphIndex
from engine.figures.labels import Labels
from engine.figures.marking import WORDS, Marking, Part
from engine.figures.members import MembersByAddress
from engine.figures.module_tree import ModuleRow, module_rows, with_groups
from engine.figures.notes import notes_of, summary_of
from engine.figures.opening import unknown_groups
from engine.figures.payload import pack
from engine.figures.repeats import build_tree
from engine.figures.replay_track import ReplayTrack
from engine.figures.view import GraphView
from engine.figures.wires import Bundle, output_numbers, wire_lines, wire_note
from engine.graph.spec import Graph, ModuleCall


class Box(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One rectangle. `role`: node, group (closed) or frame (open); `x`, `y` its top left corner; `colour` an index.

    `lines` are small print under `title`, `leaves` one marker per use of a leaf, `outputs` names of traced outputs,
    `empty` the numbers of empty slots, `mark` "added", "removed", "changed" (against A), "modified" or "".
    `first` and `last` (exclusive) are positions in the forward order of boxes, `changes` what differs from run A in
    words, `gradient_norm` the norm of what its leaves received, where known.
    """

    address: str
    role: str
    kind: str
    colour: int
    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple[str, ...]
    leaves: tuple[Marker, ...]
    nodes: int
    saved_bytes: int
    dropped: int
    outputs: tuple[str, ...]
    empty: tuple[int, ...]
    mark: str
    tooltip: tuple[str, ...]
    stacked: bool
    first: int = 0
    last: int = 0
    changes: tuple[str, ...] = ()
    gradient_norm: float | None = None


class Wire(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One or more edges between two boxes, by index: cubic segments, how many edges, and what they carry in words.

    `outputs` is "#2" beside the producing box when the edges come from other outputs than its first, `label` the shape
    that flows, drawn along the curve when there is room.
    """

    source: int
    target: int
    curve: tuple[float, ...]
    edges: int
    lines: tuple[str, ...]
    mark: str
    outputs: str = ""
    label: str = ""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """Everything to draw. Frames come first in `boxes`, outermost first; `members` maps addresses to node ids.

    `selected` is the address a link points at, `modules` the module tree in the order of the model. Against a run A,
    `removed` are addresses there of nodes that only A has, `ghosts` maps addresses of boxes to such nodes' ids in A.
    """

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    width: float
    height: float
    colours: tuple[Colour, ...]
    legend: tuple[int, ...]
    colour_by: str
    direction: str
    nodes_total: int
    nodes_shown: int
    edges_total: int
    expanded: tuple[str, ...]
    removed: tuple[str, ...]
    notes: tuple[str, ...]
    summary: str
    members: Mapping[str, tuple[int, ...]]
    selected: str = ""
    modules: tuple[ModuleRow, ...] = ()
    ghosts: Mapping[str, tuple[int, ...]] = {}


def build_scene(
    graph: Graph,
    view: GraphView | None = None,
    *,
    compared: Compared | None = None,
    types: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    modules: Sequence[ModuleCall] = (),
    selected: str = "",
    gradients: Mapping[str, float | None] | None = None,
) -> Scene:
    """Draw `graph` as `view` asks; `compared` are its differences to run A, which are then marked.

    `types` maps module paths to class names, `kinds` leaf names to owner kinds, `gradients` leaf
    names to norms of what they received. `modules` are the model's,
    `selected` the address a link points at. Pure and deterministic.
    """
    view = view or GraphView()
    return draw(
        prepare(graph, view, compared=compared, types=types, kinds=kinds, modules=modules, gradients=gradients),
        view,
        selected,
    )


class Prepared(NamedTuple):
    """What pictures of one graph share however they are opened: boxes, addresses, tree and words.

    Against a run A `graph` also has the nodes that only A has (`Marking`).
    """

    graph: Graph
    folded: Folded
    names: list[str]
    tree: Item
    labels: Labels
    marking: Marking
    modules: tuple[ModuleRow, ...]
    gradients: Mapping[str, float | None]


def prepare(
    graph: Graph,
    view: GraphView,
    *,
    compared: Compared | None = None,
    types: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    modules: Sequence[ModuleCall] = (),
    gradients: Mapping[str, float | None] | None = None,
) -> Prepared:
    """The part of `build_scene` that does not depend on what is open, `inside`, colours or direction."""
    toggles = FoldToggles(view.fold_leaves, view.fold_transposes, view.fold_views, view.fold_copies)
    marking = Marking(graph, compared, view.show_removed)
    drawn = marking.graph
    folded = fold(drawn, toggles, kinds)
    names = marking.addresses or addresses(drawn, folded.keys)
    tree = _tree(drawn, folded, names, view, marking.marks)
    labels = Labels(drawn, folded, names, dict(types or {}), marking)
    rows = with_groups(module_rows(graph, modules), groups_of(tree).values())
    return Prepared(drawn, folded, names, tree, labels, marking, rows, gradients or {})


def draw(prepared: Prepared, view: GraphView, selected: str = "") -> Scene:
    """The picture of a prepared graph; `view` folds as the one it was prepared with, `selected` is shown first."""
    graph, marking = prepared.graph, prepared.marking
    root = inside(prepared.tree, view.inside) or prepared.tree
    unknown = unknown_groups(prepared.tree, view.expanded or ())
    if unknown and unknown == len(view.expanded or ()):
        view = msgspec.structs.replace(view, expanded=None)
    arranged = arrange(prepared.labels, root, view)
    opened, visible, picture, labels = arranged.opened, arranged.visible, arranged.picture, arranged.labels
    closed = [item for item in visible if item.address not in opened]
    norms = gradient_norms(graph, labels, visible, prepared.gradients) if prepared.gradients else {}
    colouring = choose_colours(graph, labels, closed, view.colour_by, norms)
    boxes = tuple(_box(item, item.address in opened, picture, labels, colouring, norms) for item in visible)
    members = MembersByAddress(labels.nodes, {item.address: item for item in visible}, prepared.names)
    wires = _wires(graph, labels, arranged.wired.bundles, picture, boxes, view)
    return Scene(
        boxes=boxes,
        wires=wires,
        width=round(picture.width, 1),
        height=round(picture.height, 1),
        colours=colouring.colours,
        legend=colouring.with_meanings(WORDS if marking.compared else ()),
        colour_by=view.colour_by,
        direction=view.direction,
        nodes_total=marking.real,
        nodes_shown=len({n for i in visible if not i.kids for n in labels.members(i) if n < marking.real}),
        edges_total=len(marking.own.edges),
        expanded=tuple(item.address for item in visible if item.address in opened),
        removed=marking.removed_in(None if root is prepared.tree else labels.nodes.of(root), root.path),
        notes=notes_of(marking.own, view, arranged, root is not prepared.tree, unknown),
        summary=summary_of(marking.own, [box.role for box in boxes]),
        members=Part(members, marking),
        ghosts=Part(members, marking, ghosts=True),
        selected=selected,
        modules=prepared.modules,
    )


ROWS = {"boxes": Box, "wires": Wire, "leaves": Marker, "modules": ModuleRow}
"""What the canvas gets as rows of fields, whose names it is told once."""


def encode_scene(scene: Scene, index: GraphIndex | None = None, track: ReplayTrack | None = None) -> bytes:
    """The scene for the canvas, with the index that its search and paths read; member lists stay here.

    With `track`, which needs the index, the canvas plays a recorded backward pass over the picture.
    """
    names = [name for name in Scene.__struct_fields__ if name not in ("members", "ghosts")]
    fields = {name: row.__struct_fields__ for name, row in ROWS.items()}
    content = {"fields": fields} | {name: getattr(scene, name) for name in names}
    if index is None:
        return pack(content)
    told = {name: getattr(index, name) for name in ("tables", "roots", "boxes", "real", "stamp")}
    if track is None:
        return pack(content | {"index": told}, index.columns)
    return pack(content | {"index": told, "replay": track.told()}, index.columns | track.columns)


def _tree(graph: Graph, folded: Folded, names: list[str], view: GraphView, marks: list[str]) -> Item:
    paths, words, labels = list(graph.node_modules), list(graph.node_names), list(names)
    followers = dict(zip(folded.order, folded.order[1:], strict=False)) if folded.copies else {}
    for box, leaf in folded.copies.items():
        consumer = followers[box]
        while consumer >= len(graph.nodes):
            consumer = followers[consumer]
        paths.append(paths[consumer])
        words.append(words[leaf])
        marks += [marks[leaf]] if marks else []
        labels.append(f"{names[leaf]}~{box - len(graph.nodes)}")
    return build_tree(folded.order, paths, words, labels, view.maximum_boxes, marks)


def _box(
    item: Item,
    is_open: bool,
    picture: Picture,
    labels: Labels,
    colouring: Colouring,
    norms: Mapping[str, float | None],
) -> Box:
    place = (picture.frames if is_open else picture.boxes)[item.address]
    text: Text = labels.text(item, is_open)
    mark = labels.mark(item)
    return Box(
        address=item.address,
        role="frame" if is_open else "group" if item.children else "node",
        kind=text.kind,
        colour=colouring.of(item.address),
        x=round(place[0], 1),
        y=round(place[1], 1),
        width=round(place[2], 1),
        height=round(place[3], 1),
        title=text.title,
        lines=text.lines,
        leaves=text.leaves,
        nodes=int((labels.nodes.of(item) < labels.marking.real).sum()),
        saved_bytes=text.saved_bytes,
        dropped=text.dropped,
        outputs=text.outputs,
        empty=text.empty,
        mark=mark if not is_open or mark in ("added", "removed") else "",
        tooltip=text.tooltip,
        stacked=item.role in ("repeat", "chunk", "step"),
        first=item.first,
        last=item.last,
        changes=() if item.kids else labels.marking.words(labels.members(item)),
        gradient_norm=norms.get(item.address),
    )


def _wires(
    graph: Graph, labels: Labels, bundles: list[Bundle], picture: Picture, boxes: tuple[Box, ...], view: GraphView
) -> tuple[Wire, ...]:
    index = {box.address: number for number, box in enumerate(boxes)}
    usual = usual_dtype(graph)
    wires = []
    for bundle, curve in sorted(zip(bundles, picture.curves, strict=True), key=lambda drawn: not drawn[0].gone):
        ends = (index[bundle.source.address], index[bundle.target.address])
        source, target = ends if view.direction == "forward" else ends[::-1]
        mark = labels.marking.wire(bundle.edges)
        lines = (*wire_lines(graph, bundle), *wire_note(bundle))
        rounded = tuple(round(value, 1) for value in curve)
        said = output_numbers(bundle), wire_label(graph, bundle, usual)
        wires.append(Wire(source, target, rounded, len(bundle.edges), lines, mark, *said))
    return tuple(wires)
