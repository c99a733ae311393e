"""A graph as a picture: boxes, frames and wires with places, words and colours; what the canvas and exports draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from engine.figures.arrange import arrange
from engine.figures.colours import Colour, Colouring, choose_colours, gradient_norms
from engine.figures.compound import Picture
from engine.figures.difference import removed_per_group, unmatched
from engine.figures.edge_labels import shape_label
from engine.figures.fold import Folded, FoldToggles, addresses, fold
from engine.figures.hierarchy import Item, groups_of, inside
from engine.figures.index import GraphIndex
from engine.figures.labels import Labels, Marker, Text
from engine.figures.members import MembersByAddress
from engine.figures.module_tree import ModuleRow, module_rows, with_groups
from engine.figures.notes import notes_of, summary_of
from engine.figures.payload import pack
from engine.figures.repeats import build_tree
from engine.figures.units import format_count
from engine.figures.view import GraphView
from engine.figures.wires import Bundle, output_numbers, wire_lines, wire_note
from engine.graph.spec import Graph, ModuleCall


class Box(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One rectangle. `role`: node, group (closed) or frame (open); `x`, `y` its top left corner; `colour` an index.

    `lines` are small print under `title`, `leaves` one marker per use of a leaf, `outputs` names of traced outputs,
    `empty` the numbers of empty slots, `mark` "added", "removed" (something inside is gone since A) or "".
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

    `selected` is the address a link points at, `modules` the module tree in the order of the model.
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


def build_scene(
    graph: Graph,
    view: GraphView | None = None,
    *,
    pinned: Graph | None = None,
    types: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    modules: Sequence[ModuleCall] = (),
    selected: str = "",
    gradients: Mapping[str, float | None] | None = None,
) -> Scene:
    """Draw `graph` as `view` asks; `pinned` is run A to mark added and removed nodes against.

    `types` maps module paths to class names, `kinds` leaf names to owner kinds, `gradients` leaf
    names to norms of what they received. `modules` are the model's,
    `selected` the address a link points at. Pure and deterministic.
    """
    view = view or GraphView()
    return draw(
        prepare(graph, view, pinned=pinned, types=types, kinds=kinds, modules=modules, gradients=gradients),
        view,
        selected,
    )


class Prepared(NamedTuple):
    """What pictures of one graph share however they are opened: boxes, addresses, tree and words."""

    graph: Graph
    folded: Folded
    names: list[str]
    tree: Item
    labels: Labels
    removed: dict[str, tuple[str, ...]]
    modules: tuple[ModuleRow, ...]
    gradients: Mapping[str, float | None]


def prepare(
    graph: Graph,
    view: GraphView,
    *,
    pinned: Graph | None = None,
    types: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    modules: Sequence[ModuleCall] = (),
    gradients: Mapping[str, float | None] | None = None,
) -> Prepared:
    """The part of `build_scene` that does not depend on what is open, `inside`, colours or direction."""
    toggles = FoldToggles(view.fold_leaves, view.fold_transposes, view.fold_views, view.fold_copies)
    folded = fold(graph, toggles, kinds)
    names = addresses(graph, folded.keys)
    tree = _tree(graph, folded, names, view)
    labels = Labels(graph, folded, names, dict(types or {}), unmatched(graph, pinned, names))
    rows = with_groups(module_rows(graph, modules), groups_of(tree).values())
    return Prepared(graph, folded, names, tree, labels, removed_per_group(graph, pinned, names), rows, gradients or {})


def draw(prepared: Prepared, view: GraphView, selected: str = "") -> Scene:
    """The picture of a prepared graph; `view` folds as the one it was prepared with, `selected` is shown first."""
    graph, removed = prepared.graph, prepared.removed
    root = inside(prepared.tree, view.inside) or prepared.tree
    arranged = arrange(prepared.labels, root, view)
    opened, visible, picture, labels = arranged.opened, arranged.visible, arranged.picture, arranged.labels
    closed = [item for item in visible if item.address not in opened]
    norms = gradient_norms(graph, labels, visible, prepared.gradients) if prepared.gradients else {}
    colouring = choose_colours(graph, labels, closed, view.colour_by, norms)
    boxes = tuple(_box(item, item.address in opened, picture, labels, colouring, removed, norms) for item in visible)
    return Scene(
        boxes=boxes,
        wires=_wires(graph, labels, arranged.wired.bundles, picture, boxes, view),
        width=round(picture.width, 1),
        height=round(picture.height, 1),
        colours=colouring.colours,
        legend=colouring.legend,
        colour_by=view.colour_by,
        direction=view.direction,
        nodes_total=len(graph.nodes),
        nodes_shown=len({node for i in visible if not i.kids for node in labels.members(i)}),
        edges_total=len(graph.edges),
        expanded=tuple(item.address for item in visible if item.address in opened),
        removed=tuple(removed.get("", ())),
        notes=notes_of(graph, view, arranged, root is not prepared.tree),
        summary=summary_of(graph, [box.role for box in boxes]),
        members=MembersByAddress(labels.nodes, {item.address: item for item in visible}, prepared.names),
        selected=selected,
        modules=prepared.modules,
    )


def toggled(view: GraphView, scene: Scene, address: str) -> GraphView:
    """The view after opening a closed group, or closing an open one, of `scene`."""
    if address in scene.expanded:
        return msgspec.structs.replace(view, expanded=tuple(a for a in scene.expanded if a != address))
    return msgspec.structs.replace(view, expanded=(*scene.expanded, address))


ROWS = {"boxes": Box, "wires": Wire, "leaves": Marker, "modules": ModuleRow}
"""What the canvas gets as rows of fields, whose names it is told once."""


def encode_scene(scene: Scene, index: GraphIndex | None = None) -> bytes:
    """The scene for the canvas, with the index that its search and paths read; member lists stay here."""
    names = [name for name in Scene.__struct_fields__ if name != "members"]
    fields = {name: row.__struct_fields__ for name, row in ROWS.items()}
    content = {"fields": fields} | {name: getattr(scene, name) for name in names}
    if index is None:
        return pack(content)
    told = {"tables": index.tables, "roots": index.roots, "boxes": index.boxes, "real": index.real, "stamp": index.stamp}
    return pack(content | {"index": told}, index.columns)


def _tree(graph: Graph, folded: Folded, names: list[str], view: GraphView) -> Item:
    paths, words, labels = list(graph.node_modules), list(graph.node_names), list(names)
    followers = dict(zip(folded.order, folded.order[1:], strict=False)) if folded.copies else {}
    for box, leaf in folded.copies.items():
        consumer = followers[box]
        while consumer >= len(graph.nodes):
            consumer = followers[consumer]
        paths.append(paths[consumer])
        words.append(words[leaf])
        labels.append(f"{names[leaf]}~{box - len(graph.nodes)}")
    return build_tree(folded.order, paths, words, labels, view.maximum_boxes)


def _box(
    item: Item,
    is_open: bool,
    picture: Picture,
    labels: Labels,
    colouring: Colouring,
    removed: Mapping[str, tuple[str, ...]],
    norms: Mapping[str, float | None],
) -> Box:
    place = (picture.frames if is_open else picture.boxes)[item.address]
    text: Text = labels.text(item, is_open)
    gone = removed.get(item.path, ()) if item.children else ()
    lines = (*text.lines, f"{format_count(len(gone))} removed since A") if gone and not is_open else text.lines
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
        lines=lines,
        leaves=text.leaves,
        nodes=labels.nodes.of(item).size,
        saved_bytes=text.saved_bytes,
        dropped=text.dropped,
        outputs=text.outputs,
        empty=text.empty,
        mark="removed" if gone else "" if is_open else labels.mark(item),
        tooltip=text.tooltip,
        stacked=item.role in ("repeat", "chunk", "step"),
        first=item.first,
        last=item.last,
        gradient_norm=norms.get(item.address),
    )


def _wires(
    graph: Graph, labels: Labels, bundles: list[Bundle], picture: Picture, boxes: tuple[Box, ...], view: GraphView
) -> tuple[Wire, ...]:
    index = {box.address: number for number, box in enumerate(boxes)}
    wires = []
    for bundle, curve in zip(bundles, picture.curves, strict=True):
        ends = (index[bundle.source.address], index[bundle.target.address])
        source, target = ends if view.direction == "forward" else ends[::-1]
        mark = "added" if "added" in (boxes[source].mark, boxes[target].mark) else ""
        lines = (*wire_lines(graph, bundle), *wire_note(bundle))
        rounded = tuple(round(value, 1) for value in curve)
        said = output_numbers(bundle), shape_label(graph, bundle)
        wires.append(Wire(source, target, rounded, len(bundle.edges), lines, mark, *said))
    return tuple(wires)
