"""The same step of training without any recording, and what PyTorch's own tensors add up to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from engine.memory.blocks import CATEGORIES
from engine.memory.spec import MemorySpec, MemoryTrace
from engine.models.build import Built, build
from engine.optimizers import make_optimizer

RNG_BYTES = torch.get_rng_state().nbytes


def after(trace: MemoryTrace, phase: str, step: int) -> dict[str, int]:
    """Bytes alive by category when a phase ended."""
    (last,) = [one.after - 1 for one in trace.phases if (one.name, one.step) == (phase, step)]
    column = trace.blocks.live_bytes(trace.events)[:, last]
    return dict(zip(CATEGORIES, column.tolist(), strict=True))


def storages(tensors: Iterable[Any]) -> dict[int, int]:
    """Address -> bytes of the tensors' storages, each once."""
    dense = [part for one in tensors if isinstance(one, torch.Tensor) for part in parts(one)]
    found = [one.untyped_storage() for one in dense]
    return {storage.data_ptr(): storage.nbytes() for storage in found}


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    return [tensor._indices(), tensor._values()] if tensor.is_sparse else [tensor]


def held_elsewhere(built: Built) -> int:
    """Bytes that saved tensors hold beside parameters, buffers and inputs: by hooks around the forward."""
    known = storages([*built.model.parameters(), *built.model.buffers(), *built.inputs.values(), built.target])
    seen: dict[int, int] = {}
    keep = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen.update(storages([tensor]))
        keep.append(tensor.detach())  # no address is used twice meanwhile
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = built.loss(built.forward())
    del loss
    return sum(size for address, size in seen.items() if address not in known)


class Plain:
    """What MemorySpec trains, written out: two steps at most, nothing recorded."""

    def __init__(self, spec: MemorySpec) -> None:
        self.built = build(spec.model)
        self.optimizer = None
        if spec.optimizer != "none" and list(self.built.model.parameters()):
            self.optimizer = make_optimizer(spec.optimizer, self.built.model.parameters(), 1e-3)
        self.gradients: dict[int, int] = {}
        for _ in range(spec.steps):
            self.step()

    def step(self) -> None:
        outputs = self.built.forward()
        loss = self.built.loss(outputs)
        loss.backward()
        inputs = storages(self.built.inputs.values())
        gradients = storages(one.grad for one in self.leaves())
        self.gradients = {address: size for address, size in gradients.items() if address not in inputs}
        if self.optimizer is not None:
            self.optimizer.step()
            self.optimizer.zero_grad()

    def leaves(self) -> list[torch.Tensor]:
        return [*self.built.model.parameters(), *self.built.inputs.values()]

    def state_bytes(self) -> int:
        states = [] if self.optimizer is None else self.optimizer.state.values()
        return sum(storages(value for state in states for value in state.values()).values())
