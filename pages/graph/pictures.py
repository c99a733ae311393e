"""Pictures of traced models, kept: what all pictures of one graph share, and every way it was looked at lately."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

from engine import run
from engine.figures.comparison import Compared, compare_graphs
from engine.figures.index import GraphIndex, index_of
from engine.figures.reveal import revealed
from engine.figures.scene import Prepared, Scene, draw, encode_scene, prepare
from engine.figures.view import GraphView
from engine.graph.spec import GraphSpec
from pages.shared.kept import Kept

KEPT_NODES = 400_000
"""Graphs of together so many nodes stay prepared: four of 100,000, or every graph of a workshop."""
KEPT_BYTES = 64 << 20


class Drawable:
    """A prepared graph; one thread draws it at a time, because words that were worked out are noted in it."""

    def __init__(self, spec: GraphSpec, pinned: GraphSpec | None, view: GraphView) -> None:
        self._spec, self._pinned, self._view = spec, pinned, view
        self._lock = Lock()

    @property
    def nodes(self) -> int:
        """Nodes of all graphs in it."""
        return sum(len(run(spec).graph.nodes) for spec in (self._spec, self._pinned) if spec is not None)

    @cached_property
    def prepared(self) -> Prepared:
        traced = run(self._spec)
        return prepare(
            traced.graph,
            self._view,
            compared=comparison(self._spec, self._pinned) if self._pinned else None,
            types={call.path: call.type for call in traced.modules},
            kinds=self._kinds(),
            modules=traced.modules,
            gradients={leaf.name: leaf.grad_norm for leaf in traced.leaves},
        )

    @cached_property
    def index(self) -> GraphIndex:
        prepared = self.prepared
        return index_of(prepared.graph, prepared.folded, prepared.names, self._kinds(), prepared.marking.own)

    def draw(self, view: GraphView, selected: str) -> tuple[Scene, bytes]:
        """The scene and the same encoded for the canvas."""
        with self._lock:
            scene = draw(self.prepared, view, selected)
            return scene, encode_scene(scene, self.index)

    def reveal(self, view: GraphView, scene: Scene | None, address: str) -> tuple[GraphView | None, str]:
        """`view` with the groups around `address` open; (None, why) when this graph has no such thing."""
        with self._lock:
            return revealed(self.prepared, view, scene, address)

    def _kinds(self) -> dict[str, str]:
        return {leaf.name: leaf.kind for leaf in run(self._spec).leaves}


def comparison(spec: GraphSpec, pinned: GraphSpec) -> Compared:
    """What differs between the graphs of two traced models."""
    return _comparisons.get((spec, pinned), lambda: compare_graphs(run(pinned).graph, run(spec).graph))


_comparisons: Kept[Compared] = Kept(KEPT_NODES, lambda found: len(found.marks) + len(found.a.nodes))
_drawables: Kept[Drawable] = Kept(KEPT_NODES, lambda drawable: drawable.nodes)
_pictures: Kept[tuple[Scene, bytes]] = Kept(KEPT_BYTES, lambda picture: len(picture[1]))


def drawable(spec: GraphSpec, pinned: GraphSpec | None, view: GraphView) -> Drawable:
    """The traced graph of `spec` with boxes, addresses, tree and words, folded as `view` folds."""
    folding = GraphView(
        fold_leaves=view.fold_leaves,
        fold_transposes=view.fold_transposes,
        fold_views=view.fold_views,
        fold_copies=view.fold_copies,
        maximum_boxes=view.maximum_boxes,
        show_removed=view.show_removed,
    )
    key: Any = (spec, pinned, folding)
    return _drawables.get(key, lambda: Drawable(spec, pinned, folding))


def picture(spec: GraphSpec, pinned: GraphSpec | None, view: GraphView, selected: str = "") -> tuple[Scene, bytes]:
    """The scene of a traced model and the same encoded for the canvas; `selected` is what it shows first."""
    key: Any = (spec, pinned, view, selected)
    return _pictures.get(key, lambda: drawable(spec, pinned, view).draw(view, selected))
