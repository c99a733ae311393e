"""Seconds of every operation of the blocks, from a few real forwards."""

from __future__ import annotations

import time
from typing import Any

import torch

from engine import recorded
from engine.checkpointing.cost import BlockCosts
from engine.checkpointing.cost_probe import is_counted
from engine.checkpointing.policies import applied
from engine.checkpointing.policy import Policy
from engine.models.build import Built
from engine.models.toggles import Step

FORWARDS = 3


def time_operations(built: Built, costs: BlockCosts) -> bool:
    """Write the fastest of three runs into each operation of `costs`; False where other operations ran than foreseen.

    Estimated: each is timed alone, on this machine, with a few microseconds of Python around it.
    """
    if not costs.blocks:
        return True
    rounds = [_one_forward(built, costs.blocks) for _ in range(FORWARDS)]
    for number, block in enumerate(costs.operations):
        timed = [one[number] for one in rounds]
        if any([name for name, _ in one] != [foreseen.name for foreseen in block] for one in timed):
            return False
        for foreseen, *runs in zip(block, *timed, strict=True):
            foreseen.seconds = min(seconds for _, seconds in runs)
    return True


def _one_forward(built: Built, blocks: int) -> list[list[tuple[str, float]]]:
    clock = _Clock(blocks)
    with applied(built, Policy(), clock.watch) as one, clock:
        one.forward()
    return clock.seconds


class _Clock(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """(name, seconds) of the operations of each block, in order."""

    def __init__(self, blocks: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seconds: list[list[tuple[str, float]]] = [[] for _ in range(blocks)]
        self._block: int | None = None

    def watch(self, number: int, step: Step) -> Step:
        """The block, with its operations told from the others."""

        def run(x: torch.Tensor) -> torch.Tensor:
            self._block = number
            y = step(x)
            self._block = None
            return y

        return run

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        begun = time.perf_counter()
        out = func(*args, **(kwargs or {}))
        if self._block is not None and is_counted(func):
            self.seconds[self._block].append((str(func), time.perf_counter() - begun))
        return out
