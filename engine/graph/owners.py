"""Whose memory a saved tensor is: parameter, input, buffer, or the operation that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from engine import recorded
from engine.graph.rows import OwnerKind

Owner = tuple[str, OwnerKind]
"""A name a person knows, and what it names."""
Maker = tuple[str | int, OwnerKind]
"""An owner, or the number of the node that made an intermediate."""


class Owners:
    """Names of the tensors a person knows, by identity and by storage; counts each storage once."""

    def __init__(self, model: nn.Module | None, inputs: Mapping[str, torch.Tensor]) -> None:
        self.totals: dict[OwnerKind, int] = {"parameter": 0, "input": 0, "buffer": 0, "intermediate": 0}
        self.ids: dict[Any, int] = {}
        self.nodes: list[Any] = []
        self._tensors: dict[int, Owner] = {}
        self.by_storage: dict[int, Owner] = {}
        self.storages: dict[int, tuple[int, int]] = {}
        """Identity of a storage -> (its bytes, its number in order of discovery)."""
        self._unnamed = 0
        if model is not None:
            parameters, buffers = recorded.named_members(model)
            self._learn(parameters, "parameter")
            self._learn(buffers, "buffer")
        self._learn(inputs, "input")

    def _learn(self, named: Mapping[str, torch.Tensor], kind: OwnerKind) -> None:
        for name, tensor in named.items():
            self._tensors.setdefault(id(tensor), (name, kind))
            self._remember_storage(tensor, (name, kind))

    def _remember_storage(self, tensor: torch.Tensor, owner: Owner) -> None:
        for key, _ in recorded.storages_of(tensor):
            self.by_storage.setdefault(key, owner)

    def leaf(self, variable: torch.Tensor) -> Owner:
        """Name and kind of a leaf an accumulator belongs to; leaves nobody named are numbered."""
        owner = self._tensors.get(id(variable))
        if owner is None:
            kind: OwnerKind = "parameter" if isinstance(variable, nn.Parameter) else "input"
            owner = (f"leaf[{self._unnamed}]", kind)
            self._unnamed += 1
            self._tensors[id(variable)] = owner
            self._remember_storage(variable, owner)
        return owner

    def of(self, storages: tuple[tuple[int, int], ...]) -> Owner | None:
        """The parameter, input, buffer or known intermediate that shares a storage."""
        return self.by_storage.get(storages[0][0]) if storages else None

    def made_by(self, node: Any | None) -> Maker:
        """The operation that made an intermediate; by name where it is not in the graph, "" when autograd made none."""
        if node is None:
            return "", "intermediate"
        number = self.ids.get(node)
        return node.name() if number is None else number, "intermediate"

    def count(self, storages: tuple[tuple[int, int], ...], kind: OwnerKind) -> int | None:
        """Number of the (first) storage in order of discovery; each storage adds to the totals once."""
        numbers = [(self.storages.get(key) or self.count_storage(key, size, kind))[1] for key, size in storages]
        return numbers[0] if numbers else None

    def count_storage(self, key: int, size: int, kind: OwnerKind) -> tuple[int, int]:
        """(bytes, number) of a storage met for the first time; its bytes join the totals of its kind."""
        counted = self.storages[key] = size, len(self.storages)
        if kind:
            self.totals[kind] += size
        return counted
