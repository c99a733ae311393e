"""The costs of every block, from one plain step of a model that holds nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from engine import recorded_checkpointing, recorded_search
from engine.checkpointing.cost import OUTSIDE, BlockCosts, BlockOperation, Storage
from engine.checkpointing.forecast import Foreseen
from engine.checkpointing.forecast_kernels import working_bytes
from engine.checkpointing.forecast_storages import FollowStorages
from engine.checkpointing.policies import OwnHooks, applied, tensors_in
from engine.checkpointing.policy import Policy
from engine.models.spec import block_count
from engine.models.toggles import Step

Stretch = tuple[str, int]
"""("outside", -1), ("forward", block), ("between", -1) or ("backward", block)."""


def block_costs(foreseen: Foreseen) -> BlockCosts:
    """Costs of the model's blocks. Errors PyTorch raises in a plain step pass through."""
    blocks = block_count(foreseen.built.spec.architecture)
    probe = _Probe(blocks)
    with foreseen.mode, applied(foreseen.built, Policy(), probe.watch if blocks else None) as one, probe:
        probe.leave_out(foreseen.there_before())
        with recorded_search.generator_states(probe.follow), OwnHooks(probe.pack, lambda tensor: tensor):
            _, loss = one.forward()
        probe.stretch = ("between", OUTSIDE)
        loss.backward()  # type: ignore[no-untyped-call]
    foreseen.reset()
    return probe.costs()


class _Probe(FollowStorages):  # type: ignore[no-untyped-call]
    """Follows storages by the block that saves them, and the bytes alive by stretch of the step."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stretch: Stretch = ("outside", OUTSIDE)
        self._operations: list[list[BlockOperation]] = [[] for _ in range(blocks)]
        self._nbytes: dict[int, int] = {}
        self._changed: set[int] = set()
        self._saving: set[int] = set()
        self._saved_by: defaultdict[int, set[int]] = defaultdict(set)
        self._input_of: defaultdict[int, set[int]] = defaultdict(set)
        self._most: defaultdict[Stretch, int] = defaultdict(int)

    def watch(self, number: int, step: Step) -> Step:
        """The block, with its input, output and stretch noted."""

        def run(x: torch.Tensor) -> torch.Tensor:
            for found in self._numbered(x):
                self._input_of[found].add(number)
            self.stretch = ("forward", number)
            y = step(x)
            self.stretch = ("between", OUTSIDE)
            if y.requires_grad:
                y.register_hook(self._entering(("backward", number)))  # type: ignore[no-untyped-call]
            if number == 0 and x.requires_grad and not x.is_leaf:
                x.register_hook(self._entering(("outside", OUTSIDE)))  # type: ignore[no-untyped-call]
            return y

        return run

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor saved for backward: what ran before it in this block is needed again to have it again."""
        block = self.stretch[1] if self.stretch[0] == "forward" else OUTSIDE
        self._saving.add(block)
        for number in self._numbered(tensor):
            self._saved_by[number].add(block)
        for one in reversed(self._operations[block] if block != OUTSIDE else ()):
            if one.is_run_again:
                break
            one.is_run_again = True
        return tensor

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_dispatch__(func, types, args, kwargs)
        alive = self.live_bytes + working_bytes(func, args, out)
        self._most[self.stretch] = max(self._most[self.stretch], alive)
        if self.stretch[0] == "forward" and is_counted(func):
            made = [number for tensor in tensors_in(out) for number in self._numbered(tensor)]
            if str(func).split(".")[1].endswith("_"):
                self._changed.update(made)
            flops = flops_of(func, args, kwargs or {}, out)
            self._operations[self.stretch[1]].append(BlockOperation(str(func), flops, made=tuple(made)))
        return out

    def costs(self) -> BlockCosts:
        """What was noted."""
        storages = {
            number: Storage(nbytes, frozenset(self._saved_by[number]), frozenset(self._input_of[number]))
            for number, nbytes in self._nbytes.items()
        }
        costs = BlockCosts(
            storages,
            self._changed,
            self._operations,
            self._saving - {OUTSIDE},
            state_bytes=torch.get_rng_state().nbytes,
        )
        everywhere = range(costs.blocks)
        outside = {OUTSIDE}
        for number in everywhere:
            before = outside | set(range(number))
            costs.forward_bytes.append(self._most["forward", number] - costs.alive(before, set(), number))
            costs.backward_bytes.append(self._most["backward", number] - costs.alive(before | {number}, set()))
        costs.between_bytes = self._most["between", OUTSIDE] - costs.held_bytes(())
        costs.outside_bytes = self._most["outside", OUTSIDE] - costs.alive(outside, set())
        return costs

    def _numbered(self, tensor: torch.Tensor) -> list[int]:
        self.follow(tensor)
        found = self.numbers_of(tensor)
        self._nbytes |= found
        return list(found)

    def _entering(self, stretch: Stretch) -> Callable[[torch.Tensor], None]:
        def enter(gradient: torch.Tensor) -> None:
            self.stretch = stretch

        return enter


def is_counted(func: Any) -> bool:
    """Not what is only asked of tensors that hold nothing, nor autograd's own detaching of an output it saves."""
    return func.namespace != "prim" and func is not torch.ops.aten.detach.default


def flops_of(func: Any, args: Any, kwargs: Any, out: Any) -> int:
    """By torch.utils.flop_counter; 0 for an operation it does not count."""
    count = flop_registry.get(recorded_checkpointing.packet_of(func))
    return 0 if count is None else int(count(*args, **kwargs, out_val=out))
