"""The picture of a graph that plays: the scale of gradient norms joins its legend."""

from __future__ import annotations

import msgspec

from engine.figures.colours import Colour
from engine.figures.palette import MARKS, PALETTE
from engine.figures.replay_track import ReplayTrack
from engine.figures.replay_words import Flow
from engine.figures.scene import Scene

WORDS = "gradient norm up to"
MEANINGS = {Flow.ZERO: "zero_gradient", Flow.NON_FINITE: "non_finite"}
"""The palette's words for gradients that are on no scale."""


def with_scale(scene: Scene, track: ReplayTrack) -> Scene:
    """`scene` whose legend starts with the scale of the track and has the marks of gradients that are on no scale."""
    shades = tuple(
        Colour(
            f"flow{number}", WORDS, one.light, one.light, one.dark, one.dark, MARKS["square"], False, WORDS, one.stop
        )
        for number, one in enumerate(track.scale)
    )
    first = len(scene.colours)
    places = {colour.key: number for number, colour in enumerate(scene.colours)}
    kinds = [MEANINGS[state] for state in MEANINGS if state in track.states]
    kinds += ["recomputed"] * track.recomputes
    marked = [places[PALETTE[kind].key] for kind in kinds]
    legend = (*range(first, first + len(shades)), *(one for one in marked if one not in scene.legend), *scene.legend)
    return msgspec.structs.replace(scene, colours=(*scene.colours, *shades), legend=legend)
