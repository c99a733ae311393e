"""Pictures of recorded backward passes, kept: the prepared graph, its track, and how it was looked at lately."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

import msgspec

from engine import run
from engine.figures.comparison import Compared, compare_graphs
from engine.figures.index import GraphIndex, index_of
from engine.figures.replay_scene import with_scale
from engine.figures.replay_track import ReplayTrack, replay_track
from engine.figures.reveal import revealed
from engine.figures.scene import Prepared, Scene, draw, encode_scene, prepare
from engine.figures.view import GraphView
from engine.replay.spec import ReplaySpec
from pages.shared.kept import Kept

KEPT_NODES = 200_000
KEPT_BYTES = 64 << 20


class Drawable:
    """The graph of one recording, with what changed against `pinned`.

    One thread draws it at a time, because words that were worked out are noted in it.
    """

    def __init__(self, spec: ReplaySpec, pinned: ReplaySpec | None, view: GraphView) -> None:
        self._spec, self._pinned, self._view, self._lock = spec, pinned, view, Lock()

    @property
    def nodes(self) -> int:
        return sum(len(run(spec).graph.nodes) for spec in (self._spec, self._pinned) if spec is not None)

    @cached_property
    def prepared(self) -> Prepared:
        replay = run(self._spec)
        return prepare(
            replay.graph,
            self._view,
            compared=comparison(self._spec, self._pinned) if self._pinned else None,
            types={call.path: call.type for call in replay.modules},
            kinds=self._kinds(),
            modules=replay.modules,
            gradients={leaf.name: leaf.grad_norm for leaf in replay.leaves},
        )

    @cached_property
    def index(self) -> GraphIndex:
        prepared = self.prepared
        return index_of(prepared.graph, prepared.folded, prepared.names, self._kinds(), prepared.marking.own)

    def draw(self, view: GraphView, selected: str, start: tuple[int, int]) -> tuple[Scene, bytes]:
        """The scene and the same encoded for the canvas; `start` is as for `picture`."""
        with self._lock:
            track = msgspec.structs.replace(track_of(self._spec), start=start[0], asked=start[1])
            scene = with_scale(draw(self.prepared, view, selected), track)
            return scene, encode_scene(scene, self.index, track)

    def reveal(self, view: GraphView, scene: Scene | None, address: str) -> tuple[GraphView | None, str]:
        """`view` with the groups around `address` open; (None, why) when this graph has no such thing."""
        with self._lock:
            return revealed(self.prepared, view, scene, address)

    def _kinds(self) -> dict[str, str]:
        return {leaf.name: leaf.kind for leaf in run(self._spec).leaves}


def comparison(spec: ReplaySpec, pinned: ReplaySpec) -> Compared:
    """What differs between the graphs of two recordings."""
    return _comparisons.get((spec, pinned), lambda: compare_graphs(run(pinned).graph, run(spec).graph))


_comparisons: Kept[Compared] = Kept(KEPT_NODES, lambda found: len(found.marks) + len(found.a.nodes))
_drawables: Kept[Drawable] = Kept(KEPT_NODES, lambda drawable: drawable.nodes)
_tracks: Kept[ReplayTrack] = Kept(KEPT_NODES, lambda track: len(track.columns["step_place"].data) // 4)
_pictures: Kept[tuple[Scene, bytes]] = Kept(KEPT_BYTES, lambda picture: len(picture[1]))


def track_of(spec: ReplaySpec) -> ReplayTrack:
    """The recording of `spec` as the canvas plays it."""
    return _tracks.get(spec, lambda: replay_track(run(spec)))


def drawable(spec: ReplaySpec, pinned: ReplaySpec | None, view: GraphView) -> Drawable:
    """The recorded graph of `spec` with boxes, addresses, tree and words, folded as `view` folds."""
    folding = GraphView(maximum_boxes=view.maximum_boxes, show_removed=view.show_removed)
    key: Any = (spec, pinned, folding)
    return _drawables.get(key, lambda: Drawable(spec, pinned, folding))


def picture(
    spec: ReplaySpec,
    pinned: ReplaySpec | None,
    view: GraphView,
    selected: str = "",
    start: tuple[int, int] = (-1, 0),
) -> tuple[Scene, bytes]:
    """The scene of a recording and the same encoded for the canvas.

    `start` is the step to show first (-1: the last one) and how often one was asked for.
    """
    key: Any = (spec, pinned, view, selected, start)
    return _pictures.get(key, lambda: drawable(spec, pinned, view).draw(view, selected, start))
