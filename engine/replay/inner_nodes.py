"""Nodes made while backward runs: a reentrant checkpoint builds a graph and runs an engine on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from engine import recorded
from engine.graph.recording import Recording
from engine.replay.accumulation import LeafTensor
from engine.replay.recorder import Recorder, Watched

MOST_NODES = 4_000
"""Looked at in one recording; far below what a chain of nodes may have to be freed by recursion (graph/release.py)."""

_KEY = "torch_atlas_replay_number"


class InnerNodes:
    """Numbers and watches nodes that are in no graph of the result; keeps none of them alive."""

    def __init__(
        self, recorder: Recorder, numbers: Callable[[Any], int | None], leaf_name: Callable[[Any], str]
    ) -> None:
        self.left_out = False
        self._recorder = recorder
        self._number_of_known = numbers
        self._leaf_name = leaf_name
        self._count = 0

    def watch_behind(self, tensors: Any, places: Recording) -> None:
        """Watch every node behind the tensors an inner engine starts from that is not watched yet."""
        with self._recorder.not_counted():
            for tensor in (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors):
                if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                    self._watch(tensor.grad_fn, places)

    def _watch(self, start: Any, places: Recording) -> None:
        found = [start] if self._number(start) is None and self._take(start) else []
        for node in found:
            for one, _ in node.next_functions:
                if one is not None and self._number(one) is None and self._take(one):
                    found.append(one)
        for node in found:
            self._recorder.watch(node, self._watched(node, places))

    def _take(self, node: Any) -> bool:
        """Give a node its number, unless there are too many already."""
        if self._count >= MOST_NODES:
            self.left_out = True
            return False
        self._count += 1
        node.metadata[_KEY] = (id(self), -self._count)
        return True

    def _number(self, node: Any) -> int | None:
        known = self._number_of_known(node)
        if known is not None:
            return known
        owner, number = node.metadata.get(_KEY, (0, 0))
        return number if owner == id(self) else None

    def _watched(self, node: Any, places: Recording) -> Watched:
        number = self._number(node)
        assert number is not None
        following = [one for one, _ in node.next_functions]
        leaves = [(slot, one) for slot, one in enumerate(following) if one is not None and _is_leaf(one)]
        numbered = [(slot, self._number(one)) for slot, one in leaves]
        return Watched(
            number=number,
            node=None,
            name=node.name(),
            module=places.place_of(recorded.read_sequence_nr(node))[0],
            slots=len(following),
            to_leaves=[(slot, leaf) for slot, leaf in numbered if leaf is not None],
            leaf=LeafTensor(self._leaf_name(node.variable), node.variable) if _is_leaf(node) else None,
        )


def _is_leaf(node: Any) -> bool:
    return bool(node.name() == recorded.ACCUMULATE)
