"""Scenes for the canvas by name: many boxes, every mark, hostile words; made by hand, without torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import msgspec

from engine.figures.scene import Scene, build_scene
from engine.figures.view import GraphView
from engine.graph.spec import Graph
from tests.figures.graphs import HOSTILE, graph, leaf, node, saved

BLOCK_NODES = 12
ALL_OPEN = GraphView(maximum_boxes=5000, ceiling_boxes=5000)


def blocks(count: int) -> Graph:
    """`count` blocks of twelve operations with a residual and side branches: 12 boxes and about 19 wires a block."""
    names = ("Addmm", "View", "Gelu", "Mul", "Mm", "Add", "Sub", "Bmm", "Softmax", "Sum", "Exp", "Tanh")
    last = BLOCK_NODES * count - 1
    nodes, edges = [], []
    for number in range(last + 1):
        block, place = divmod(last - number, BLOCK_NODES)
        name, path = f"{names[place]}Backward0", f"blocks.{block}.{('attn', 'mlp')[place // 6]}"
        slots = [saved(number, 4 << (number % 20))] if place % 3 else []
        nodes.append(node(number, name, path, sequence=last - number, slots=slots, shape=(8, 64 + place)))
        reach = (1, 2, 6) if place % 4 == 3 else (1, 4) if place % 2 else (1,)
        edges += [(number, slot, number + far) for slot, far in enumerate(reach) if number + far <= last]
    for block in range(count):
        weight = last + 1 + block
        nodes.append(leaf(weight, f"blocks.{block}.mlp.weight", f"blocks.{block}.mlp"))
        edges.append(((count - 1 - block) * BLOCK_NODES + 1, 3, weight))
    return graph(nodes, edges)


@cache
def many(boxes: int) -> Scene:
    """About `boxes` visible boxes, every group open."""
    made = blocks(max(1, round(boxes / BLOCK_NODES)))
    return build_scene(made, ALL_OPEN)


def marked() -> Scene:
    """One box and one wire of every mark, with words of what changed."""
    scene = build_scene(blocks(1), ALL_OPEN)
    marks = {3: "added", 4: "removed", 5: "changed", 6: "modified"}
    solid = [number for number, box in enumerate(scene.boxes) if box.role != "frame"]
    boxes = list(scene.boxes)
    for place, mark in marks.items():
        number = solid[place]
        changes = ("float32 → bfloat16",) if mark == "changed" else ()
        box = boxes[number]
        boxes[number] = msgspec.structs.replace(box, mark=mark, changes=changes, lines=(*box.lines[:-1], *changes))
    wires = [
        msgspec.structs.replace(wire, mark=mark)
        if (mark := boxes[wire.source].mark or boxes[wire.target].mark) in ("added", "removed")
        else wire
        for wire in scene.wires
    ]
    return msgspec.structs.replace(scene, boxes=tuple(boxes), wires=tuple(wires))


def hostile() -> Scene:
    """A chain of boxes with the names that break others, each followed by a plain neighbour."""
    names = [word for text in (*HOSTILE, "ש" * 100_000, "\u202e" + "abc" * 30_000) for word in (text, "PlainBackward0")]
    nodes = [node(i, name, name[:200].replace(".", ""), sequence=len(names) - i) for i, name in enumerate(names)]
    return build_scene(graph(nodes, [(i, 0, i + 1) for i in range(len(names) - 1)]), ALL_OPEN)


SCENES: dict[str, Callable[[], Scene]] = {
    "ten": lambda: many(10),
    "300": lambda: many(300),
    "500": lambda: many(500),
    "2000": lambda: many(2000),
    "marked": marked,
    "hostile": hostile,
}
