"""What passes through every autograd node in backward: zero, finite or not per slot, and summaries where asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import torch

from engine.diagnostics.amounts import amount_of
from engine.diagnostics.births import Births, is_finite
from engine.diagnostics.results import Amount
from engine.diagnostics.zero_reasons import why_zero
from engine.graph.spec import Graph

Slot = Literal["none", "zero", "flows", "non_finite"]


class BackwardWatch:
    """Hooks on the nodes of a graph; `incoming[n]` and `outgoing[n]` hold one word per slot once node n has run.

    `summaries` are of the gradients named in `wanted`: (node, input number). `unit_zeros` counts, for activations, the
    units whose outgoing gradient is 0 for every sample. `reasons` are of the slots that a node made zero, in words.
    """

    def __init__(self, graph: Graph, ids: Mapping[Any, int], wanted: Iterable[tuple[int, int]], births: Births) -> None:
        self.graph = graph
        self._births = births
        self.incoming: dict[int, tuple[Slot, ...]] = {}
        self.outgoing: dict[int, tuple[Slot, ...]] = {}
        self.summaries: dict[tuple[int, int], Amount] = {}
        self.order: list[int] = []
        self.unit_zeros: dict[int, int] = {}
        self.reasons: dict[tuple[int, int], str] = {}
        self._wanted = set(wanted)
        self._handles: list[Any] = []
        for node, number in ids.items():
            self._handles += [
                node.register_prehook(self._before(number)),
                node.register_hook(self._after(node, number)),
            ]

    def remove(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()

    def watch_units(self, node: Any, number: int, axis: int) -> None:
        """Count the units along `axis` of the gradient that leaves an activation's node."""

        def hook(outgoing: Any, incoming: Any) -> None:
            if outgoing and outgoing[0] is not None and outgoing[0].dim() > 1:
                with self._unseen():
                    self.unit_zeros[number] = int((by_unit(outgoing[0], axis) == 0).all(dim=0).sum())

        self._handles.append(node.register_hook(hook))

    def _before(self, number: int) -> Callable[[Any], None]:
        def hook(incoming: Any) -> None:
            self.order.append(number)
            with self._unseen():
                self.incoming[number] = tuple(map(slot_of, incoming))
                for slot, gradient in enumerate(incoming):
                    if gradient is not None and (number, slot) in self._wanted:
                        self.summaries[number, slot] = amount_of(gradient)

        return hook

    def _after(self, node: Any, number: int) -> Callable[[Any, Any], None]:
        def hook(outgoing: Any, incoming: Any) -> None:
            with self._unseen():
                self.outgoing[number] = tuple(map(slot_of, outgoing))
                if "flows" in self.incoming.get(number, ()):
                    for slot, word in enumerate(self.outgoing[number]):
                        if word == "zero":
                            self.reasons[number, slot] = why_zero(node, incoming, slot)

        return hook

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        """What the hooks themselves compute is none of the program's operations."""
        self._births.paused = True
        try:
            yield
        finally:
            self._births.paused = False

    def zero_makers(self, leaf: int) -> list[tuple[int, int]]:
        """(node, slot) that got a gradient and passed on nothing but zeros on the ways to node `leaf`; engine order.

        A slot is the number of the input whose gradient it is.
        """
        feeders: dict[int, list[tuple[int, int]]] = {}
        columns = self.graph.edge_sources, self.graph.edge_output_nrs, self.graph.edge_targets
        for source, slot, target in zip(*(column.tolist() for column in columns), strict=True):
            feeders.setdefault(target, []).append((source, slot))
        found, seen, waiting = set[tuple[int, int]](), {leaf}, [leaf]
        while waiting:
            for source, slot in feeders.get(waiting.pop(), ()):
                if slot >= len(out := self.outgoing.get(source, ())) or out[slot] != "zero":
                    continue
                if any(one in ("flows", "non_finite") for one in self.incoming.get(source, ())):
                    found.add((source, slot))
                elif source not in seen:
                    seen.add(source)
                    waiting.append(source)
        place = {number: at for at, number in enumerate(self.order)}
        return sorted(found, key=lambda one: (place.get(one[0], 0), one[1]))


def slot_of(gradient: torch.Tensor | None) -> Slot:
    """One word for a gradient."""
    if gradient is None:
        return "none"
    stored = gradient if gradient.layout is torch.strided else gradient.coalesce().values()
    if 0 < float(torch.linalg.vector_norm(stored.detach())) < math.inf:
        return "flows"
    if not is_finite(gradient):  # the squares of finite numbers may overflow, and vanish
        return "non_finite"
    return "flows" if bool(stored.any()) else "zero"


def by_unit(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """(samples, units): all other dimensions of an activation as samples."""
    return tensor.detach().movedim(axis, -1).reshape(-1, tensor.shape[axis])
