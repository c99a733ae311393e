"""The graph under a policy: what each box keeps, dropped, and runs again, as colours and marks of the canvas."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from engine.checkpointing.spec import PolicyGraph
from engine.figures.palette import PALETTE
from engine.figures.scene import Box, Scene

WORDS = ("saved", "dropped", "recomputed")
OWN = ("parameter", "input", "buffer")
"""What saves these keeps nothing alive that would not live anyway."""


def with_policy(scene: Scene, found: PolicyGraph) -> Scene:
    """`scene` coloured by what is kept and dropped, with a badge where backward runs the operation again."""
    places = {colour.key: number for number, colour in enumerate(scene.colours)}
    kept = nodes_that_keep(found)
    boxes = tuple(_with_state(box, scene, found, kept, places) for box in scene.boxes)
    present = [key for key in WORDS if any(box.colour == places[key] or box.mark == key for box in boxes)]
    used = {box.colour for box in boxes}
    rest = [
        number
        for number in scene.legend
        if number in used or scene.colours[number].key not in PALETTE or number >= len(PALETTE)
    ]
    others = [
        n
        for n in scene.legend
        if n not in rest and scene.colours[n].key in ("parameter", "input", "buffer", "output", "empty")
    ]
    legend = dict.fromkeys((*(places[key] for key in present), *rest, *others))
    return msgspec.structs.replace(scene, boxes=boxes, legend=tuple(legend), colour_by="policy")


def nodes_that_keep(found: PolicyGraph) -> frozenset[int]:
    """Nodes with a slot that holds a tensor nothing else keeps alive."""
    slots = found.graph.slots
    kinds = [not kind.dropped and not kind.unavailable and kind.owner_kind not in OWN for kind in slots.kinds]
    if not kinds:
        return frozenset()
    return frozenset(slots.nodes[np.array(kinds, bool)[slots.kind_codes]].tolist())


def recomputed_words(found: PolicyGraph, nodes: Sequence[int]) -> str:
    """ "runs again in backward", of several nodes how many of them do; "" for none."""
    times = [found.recomputed[node] for node in nodes if node < len(found.recomputed) and found.recomputed[node]]
    if not times:
        return ""
    often = f" {max(times)} times" if max(times) > 1 else ""
    return (
        f"{len(times)} of {len(nodes)} nodes run again{often}" if len(nodes) > 1 else f"runs again in backward{often}"
    )


def _with_state(box: Box, scene: Scene, found: PolicyGraph, kept: frozenset[int], places: dict[str, int]) -> Box:
    members = scene.members.get(box.address, ())
    again = recomputed_words(found, members)
    tooltip = (*box.tooltip, again) if again else box.tooltip
    if box.role == "frame":
        return msgspec.structs.replace(box, tooltip=tooltip)
    colour = box.colour
    if box.dropped:
        colour = places["dropped"]
    elif not kept.isdisjoint(members):
        colour = places["saved"]
    return msgspec.structs.replace(
        box, colour=colour, tooltip=tooltip, mark=box.mark or ("recomputed" if again else "")
    )
