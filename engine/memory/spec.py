"""What can be asked of the memory of a training step, and what comes back: every block the allocator gave out."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.graph.spec import PyTorchError
from engine.memory.blocks import Blocks, Category, Held
from engine.models.spec import ModelSpec
from engine.optimizer_names import OptimizerName
from engine.runner.contract import Array, Limits, Result, Spec

__all__ = ["Category", "Held", "MemorySpec", "MemoryTrace", "Phase", "PhaseName"]

PhaseName = Literal["build", "forward", "loss", "backward", "recompute", "optimizer step", "zero_grad", "end of step"]
"""`recompute` lies inside `backward`: a forward that a checkpoint runs again."""
Kept = Literal["nothing", "outputs", "the loss", "the loss of every step", "loss.item() of every step"]


class Phase(msgspec.Struct, frozen=True):
    """A stretch of the run: events first..after-1 of step number `step` (0 is the building of model and inputs)."""

    name: PhaseName
    step: int
    first: int
    after: int


class MemoryTrace(Result, frozen=True, kw_only=True, dict=True):
    """Every block of memory of one run, in the order of the allocator's events.

    An event is one allocation or one free, numbered from 0; "at event e" means after it. `allocator_bytes` is what the
    allocator itself counted after every event (CPU: `total_allocated` of torch.profiler's allocation events, CUDA:
    `torch.cuda.memory_stats()["allocated_bytes.all.current"]`), `event_s` seconds since the first.
    """

    blocks: Blocks
    event_s: Array
    """float64, one per event."""
    allocator_bytes: Array
    """int64, one per event; the same counter that the sum of live blocks must equal."""
    phases: tuple[Phase, ...]
    largest_difference_bytes: int
    """Largest |sum of live blocks - allocator_bytes| over all events; 0 when every byte is accounted for."""
    device_peak_bytes: int | None = None
    """CUDA's own `max_memory_allocated` of the run; None on the CPU, which keeps no such figure."""
    reserved_bytes: int | None = None
    """CUDA's `memory_reserved` at the end; the CPU allocator reserves nothing."""
    error: PyTorchError | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def events(self) -> int:
        return self.event_s.shape[0]


class MemorySpec(Spec[MemoryTrace], frozen=True, kw_only=True):
    """Record every allocation of `steps` training steps of `model`: forward, loss, backward, optimizer step."""

    verb: ClassVar[str] = "record_model_memory"
    result: ClassVar[type[Result]] = MemoryTrace
    limits: ClassVar[Limits] = Limits(wall_s=300.0, cpu_s=240)

    model: ModelSpec = ModelSpec()
    optimizer: Literal[OptimizerName, "none"] = "AdamW"
    steps: Annotated[int, Meta(ge=1, le=4)] = 2
    zero_grad: Literal["set_to_none", "fill with zeros", "never"] = "set_to_none"
    kept: Kept = "nothing"
    """What the training loop still refers to when a step ends; graphs live as long as something does."""
    retain_graph: bool = False
    backward: bool = True
