"""Where named tensors lie at a moment: addresses and names only, so that nothing is kept alive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from engine import recorded, recorded_memory
from engine.graph.roots import named_tensors
from engine.graph.texts import NAMES
from engine.memory.blocks import Category
from engine.memory.saved import saved_tensors
from engine.shapes import shape_of


class Sighting(NamedTuple):
    """One tensor at one address."""

    address: int
    category: Category | None
    """What it makes of its block; None where it only holds it."""
    holder: str
    shape: tuple[int, ...] | None
    dtype: str
    module: str | None = None
    """Path of the module it belongs to; None where that is where its block was allocated."""


Freed = Literal["all"] | frozenset[int]
"""Addresses at which nothing is saved any more unless a look says so: any, or those that a backward has just read."""


class Look(list[Sighting]):
    """What lay where at one moment; `freed` where the look tells what graphs let go of."""

    def __init__(self, sightings: Iterable[Sighting], freed: Freed | None = None) -> None:
        super().__init__(sightings)
        self.freed = freed

    def saved(self) -> frozenset[int]:
        """Addresses of what some node has saved."""
        return frozenset(one.address for one in self if one.category == "saved")


def look_at(
    category: Category | None, named: Iterable[tuple[str, Any]], module: str | None = None
) -> Iterator[Sighting]:
    """Every tensor among (name, tensor) pairs; notes are passed over."""
    for name, tensor in named:
        if isinstance(tensor, torch.Tensor):
            for address in recorded_memory.addresses(tensor):
                yield Sighting(address, category, name, shape_of(tensor), NAMES[tensor.dtype], module)


def look_at_model(model: nn.Module) -> Iterator[Sighting]:
    """Parameters and buffers by name, and the gradients of parameters."""
    parameters, buffers = recorded.named_members(model)
    kinds: list[tuple[Category, dict[str, torch.Tensor]]] = [("parameter", parameters), ("buffer", buffers)]
    for category, members in kinds:
        for name, tensor in members.items():
            yield from look_at(category, [(name, tensor)], _module(name))
    yield from look_at_gradients(parameters)


def look_at_gradients(leaves: Mapping[str, torch.Tensor]) -> Iterator[Sighting]:
    """`.grad` of named leaves."""
    for name, leaf in leaves.items():
        if leaf.is_leaf and leaf.grad is not None:
            yield from look_at("gradient", [(f"{name}.grad", leaf.grad)], _module(name))


def look_at_outputs(name: str, outputs: Any) -> Iterator[Sighting]:
    """The tensors of an output, and what the graph behind them has saved."""
    found = [pair for pair in named_tensors(outputs, name) if isinstance(pair[1], torch.Tensor)]
    yield from look_at("output", found)
    yield from look_at("saved", saved_tensors([tensor for _, tensor in found if isinstance(tensor, torch.Tensor)]))


def look_at_kept(name: str, kept: Any) -> Iterator[Sighting]:
    """The tensors a training loop still refers to, and what their graphs hold for that reason alone."""
    found = [pair for pair in named_tensors(kept, name) if isinstance(pair[1], torch.Tensor)]
    yield from look_at("output", found)
    for root, tensor in found:
        assert isinstance(tensor, torch.Tensor)
        held = saved_tensors([tensor])
        yield from look_at("saved", ((f"the graph of {root}", one) for _, one in held))


def look_at_optimizer(optimizer: torch.optim.Optimizer, names: Mapping[int, str]) -> Iterator[Sighting]:
    """`optimizer.state`, named after the parameter it belongs to; `names` by the parameter's id."""
    for parameter, state in optimizer.state.items():
        owner = names.get(id(parameter), "parameter")
        for key, value in state.items() if isinstance(state, Mapping) else ():
            yield from look_at("optimizer_state", named_tensors(value, f"{owner} {key}"), _module(owner))


def _module(name: str) -> str:
    """Path of the module that a member named `name` belongs to."""
    return name.rpartition(".")[0]
