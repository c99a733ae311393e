"""The picture of a recorded backward pass as SVG: every wire in the colour of the gradient that flowed along it."""

from __future__ import annotations

import math

import msgspec

from engine.figures.palette import Theme, meaning
from engine.figures.replay_scene import MEANINGS
from engine.figures.replay_track import Shade, replay_track
from engine.figures.replay_words import Flow, combined
from engine.figures.scene import Scene, Wire
from engine.figures.svg import scene_svg
from engine.replay.spec import Replay

THICK = (1.8, 2.4, 3.0, 3.7, 4.5)
"""Widths by step of the scale, as on the canvas."""


class WireFlow(msgspec.Struct, frozen=True):
    """What flowed along all edges of one wire together: the largest `Flow` and the norm over all of them."""

    state: Flow
    norm: float


def wire_flows(scene: Scene, replay: Replay) -> tuple[WireFlow, ...]:
    """By wire of the scene, in the last pass that sent anything along it."""
    boxes: dict[int, int] = {}
    leaf = {at for at, kind in enumerate(replay.graph.node_kinds) if kind == "leaf"}
    for number, box in enumerate(scene.boxes):
        if box.role != "frame":
            boxes |= {node: number for node in scene.members.get(box.address, ()) if node not in leaf}
    wires = {frozenset((wire.source, wire.target)): number for number, wire in enumerate(scene.wires)}
    last = {step.node: step for step in replay.steps if step.node is not None and step.duration_s is not None}
    found: list[list[int | None]] = [[] for _ in scene.wires]
    for edge in replay.graph.edges:
        step = last.get(edge.source)
        ends = frozenset((boxes.get(edge.source, -1), boxes.get(-1 if edge.target is None else edge.target, -1)))
        if step is not None and ends in wires and edge.output_nr < len(step.returned):
            found[wires[ends]].append(step.returned[edge.output_nr])
    return tuple(WireFlow(Flow(state), norm) for state, norm in (combined(replay, one) for one in found))


def replay_svg(scene: Scene, replay: Replay, theme: Theme = "light") -> str:
    """`scene_svg` with the gradients on its wires, as after the last step; `scene` has the scale in its legend."""
    scale = replay_track(replay).scale
    drawn = zip(scene.wires, wire_flows(scene, replay), strict=True)
    paths = [_path(wire, flow, scale, theme) for wire, flow in drawn if flow.state is not Flow.NOTHING]
    head, end, tail = scene_svg(scene, theme).rpartition("</svg>")
    return head + "\n".join(paths) + "\n" + end + tail


def _path(wire: Wire, flow: WireFlow, scale: tuple[Shade, ...], theme: Theme) -> str:
    colour, thick, dash = _look(flow, scale, theme)
    points = [f"{value:g}" for value in wire.curve]
    pairs = [" ".join(points[at : at + 2]) for at in range(0, len(points), 2)]
    return (
        f'<path d="M{pairs[0]}C{" ".join(pairs[1:])}" fill="none" stroke="{colour}" stroke-width="{thick}" '
        f'stroke-linecap="round"{dash}><title>{_words(flow)}</title></path>'
    )


def _look(flow: WireFlow, scale: tuple[Shade, ...], theme: Theme) -> tuple[str, float, str]:
    if flow.state in MEANINGS:
        dash = ' stroke-dasharray="5 4"' if flow.state is Flow.ZERO else ' stroke-dasharray="1 5"'
        return meaning(MEANINGS[flow.state]).accent(theme), 3.0 if dash.endswith('5"') else 1.6, dash
    at = next((number for number, shade in enumerate(scale) if flow.norm <= shade.top * (1 + 1e-12)), len(scale) - 1)
    return getattr(scale[at], theme), THICK[at] if len(scale) > 1 else THICK[2], ""


def _words(flow: WireFlow) -> str:
    told = {Flow.ZERO: "gradient exactly 0", Flow.NON_FINITE: "gradient not finite"}
    return told.get(flow.state, f"gradient norm {flow.norm:.3g}" if math.isfinite(flow.norm) else "")
