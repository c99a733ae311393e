"""Every operation of a forward and its backward, told apart: run the first time, run again, or of backward itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, Literal

import torch.utils.checkpoint
from torch.utils.flop_counter import flop_registry

from engine import recorded, recorded_checkpointing
from engine.checkpointing import held_for_backward, on_disk
from engine.checkpointing.spec import OperationCount
from engine.runner.faults import check_operations

Part = Literal["forward", "backward", "again"]

_CHECKPOINT = torch.utils.checkpoint.__file__
_ENGINE = "_engine_run_backward"
_HOOKS = (held_for_backward.__file__, on_disk.__file__)
"""What saving and reading back a tensor does is no operation of the model."""
_AGAIN = ("CheckpointFunction.backward", "recompute_fn")
"""Functions of that file which run a forward again: reentrant, and not."""
_PASSING = ("checkpoint", "checkpoint_sequential", "CheckpointFunction.forward", "forward", "__torch_dispatch__")
"""Those that only call what they were given; what the others do is the checkpoint's own bookkeeping."""
_OWN = ("_NoopSaveInputs.forward",)


class Operations(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Counts operations and FLOPs by part; set `in_backward` between forward and backward.

    `on_operation(part, name)` is called before each.
    """

    most = 50_000
    """Of one step: beyond it a Fault is raised, since every policy takes several steps."""

    def __init__(self, on_operation: Callable[[Part, str], None] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.in_backward = False
        self._seen = 0
        self.calls: dict[Part, Counter[str]] = {"forward": Counter(), "backward": Counter(), "again": Counter()}
        self.flops: dict[Part, Counter[str]] = {"forward": Counter(), "backward": Counter(), "again": Counter()}
        self._on_operation = on_operation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._seen += 1
        check_operations(self._seen, self.most)
        part = part_of(sys._getframe(1), self.in_backward)
        if part is not None and self._on_operation is not None:
            self._on_operation(part, str(func))
        out = func(*args, **(kwargs or {}))
        if part is not None:
            self.calls[part][str(func)] += 1
            if (count := flop_registry.get(recorded_checkpointing.packet_of(func))) is not None:
                self.flops[part][str(func)] += int(count(*args, **(kwargs or {}), out_val=out))
        return out

    def table(self, part: Part) -> tuple[OperationCount, ...]:
        """By name, the most FLOPs first, then the most calls."""
        calls, flops = self.calls[part], self.flops[part]
        rows = [OperationCount(name, count, flops[name]) for name, count in calls.items()]
        return tuple(sorted(rows, key=lambda row: (-row.flops, -row.calls, row.operation)))


def part_of(frame: FrameType | None, in_backward: bool) -> Part | None:
    """What the innermost frame that decides says; None for bookkeeping: of a checkpoint, of saving elsewhere."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _CHECKPOINT:
            name = code.co_qualname
            if name.endswith(_AGAIN):
                return "again"
            if not name.endswith(_PASSING) or name in _OWN:
                return None
        elif code.co_filename in _HOOKS:
            return None
        elif code.co_name == _ENGINE and in_backward:
            return "backward"
        frame = frame.f_back
    return "backward" if in_backward else "forward"
