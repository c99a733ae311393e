"""record_memory: every block of memory that some training steps use, with what it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from engine import recorded, recorded_memory, recorded_replay
from engine.garbage import collection_paused
from engine.graph.roots import named_inputs
from engine.graph.spec import PyTorchError
from engine.memory.arguments import check_arguments
from engine.memory.attribution import trace_of
from engine.memory.events import LOOK, PHASE, RERUN, read_events
from engine.memory.looks import (
    Freed,
    Look,
    Sighting,
    look_at,
    look_at_gradients,
    look_at_model,
    look_at_optimizer,
    look_at_outputs,
)
from engine.memory.phases import PhaseMark
from engine.memory.places import MarkPlaces
from engine.memory.spec import MemoryTrace, PhaseName


class MemoryRecording:
    """Records all allocations inside its block; keeps addresses and names, no tensor.

    Its own work allocates nothing that the allocator's events count. `trace()` reads the events once the block is left.
    `device` is the one whose allocator is recorded: "cpu", "cuda" (the current one) or "cuda:1".
    """

    def __init__(self, device: str = "cpu") -> None:
        self.is_cuda = device.startswith("cuda")
        self.device = f"cuda:{torch.cuda.current_device()}" if device == "cuda" else device
        self.places = MarkPlaces()
        self.device_peak_bytes: int | None = None
        self.reserved_bytes: int | None = None
        self._looks: list[Look] = []
        self._marks: list[PhaseMark] = []
        self._stack = ExitStack()
        self._profile = profile(
            activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self.is_cuda else [])],
            profile_memory=True,
            record_shapes=True,
        )

    def __enter__(self) -> MemoryRecording:
        if self.is_cuda:
            torch.cuda.reset_peak_memory_stats(self.device)
        self._stack.enter_context(self._profile)
        self._stack.enter_context(recorded_memory.recomputation_marked(RERUN))
        self._stack.enter_context(self.places)
        return self

    def __exit__(self, *raised: Any) -> None:
        if self.is_cuda:
            torch.cuda.synchronize(self.device)
            self.device_peak_bytes = torch.cuda.max_memory_allocated(self.device)
            self.reserved_bytes = torch.cuda.memory_reserved(self.device)
        self._stack.__exit__(*raised)

    def begin(self, phase: PhaseName, step: int) -> None:
        """From here on events belong to `phase` of step number `step`, until the next phase begins."""
        self._mark(f"{PHASE}{len(self._marks)}")
        self._marks.append(PhaseMark(phase, step))

    def follow(self, model: nn.Module) -> None:
        """From here on every operation knows the module of `model` whose forward runs."""
        self._stack.enter_context(self.places.modules_of(model))

    def look(self, *sightings: Iterable[Sighting], freed: Freed | None = None) -> Look:
        """Note where tensors lie now; nothing is allocated, unpacked or kept.

        `freed`: at which addresses nothing is saved any more where this look sees nothing saved.
        """
        with recorded_replay.below_torch_function():
            self._looks.append(Look((one for some in sightings for one in some), freed))
        self._mark(f"{LOOK}{len(self._looks) - 1}")
        return self._looks[-1]

    @property
    def phase(self) -> PhaseMark:
        return self._marks[-1]

    def trace(
        self, error: PyTorchError | None = None, warnings: tuple[str, ...] = (), notes: tuple[str, ...] = ()
    ) -> MemoryTrace:
        """What was recorded, after the block."""
        with collection_paused():
            found = read_events(self._profile, self.device)
            trace = trace_of(found, self._looks, self._marks, self.places, self.device)
        return msgspec.structs.replace(
            trace,
            error=error,
            warnings=warnings,
            notes=(*notes, *trace.notes),
            device_peak_bytes=self.device_peak_bytes,
            reserved_bytes=self.reserved_bytes,
        )

    def _mark(self, name: str) -> None:
        with recorded_memory.Mark(name):
            pass


def record_memory(
    step: Callable[[], Any],
    model: nn.Module | None = None,
    inputs: Any = None,
    optimizer: torch.optim.Optimizer | None = None,
    steps: int = 1,
) -> MemoryTrace:
    """Call `step()` `steps` times and return every block of memory that lived meanwhile.

    `step` does what a training loop does: forward, `loss.backward()`, `optimizer.step()`, `zero_grad()`. Where each
    begins is seen by itself. What was allocated before is not part of the allocator's figure (`MemoryRecording` around
    the building of a model has that too). Errors of `step` pass through; TypeError and ValueError where the arguments
    are not what they should be.
    """
    check_arguments(step, model, inputs, optimizer, steps)
    followed = _Followed(model, named_inputs(inputs), optimizer)
    with followed.recording as recording:
        if model is not None:
            recording.follow(model)
        with followed:
            for number in range(1, steps + 1):
                followed.step = number
                recording.begin("forward", number)
                returned = step()
                recording.begin("end of step", number)
                recording.look(followed.sightings(), look_at_outputs("returned", returned))
                del returned
    return recording.trace()


class _Followed:
    """Phases and looks of a step that is a plain callable: backward and optimizer say when they begin."""

    def __init__(
        self, model: nn.Module | None, inputs: dict[str, torch.Tensor], optimizer: torch.optim.Optimizer | None
    ) -> None:
        self.recording = MemoryRecording(_device_of(model, inputs))
        self.model, self.inputs, self.optimizer = model, inputs, optimizer
        self.step = 0
        self.stepping = False
        """Inside of `optimizer.step()`, which may call a closure with forward and backward."""
        self.names = {} if model is None else {id(one): name for name, one in model.named_parameters()}
        self.hooks: list[Any] = []

    def __enter__(self) -> None:
        self.recording.places.around_backward = self._around_backward
        if self.model is not None:
            self.hooks = [self.model.register_forward_pre_hook(self._before_forward)]
        if self.optimizer is not None:
            self.hooks += [
                self.optimizer.register_step_pre_hook(self._before_step),
                self.optimizer.register_step_post_hook(self._after_step),
            ]

    def __exit__(self, *raised: object) -> None:
        self.recording.places.around_backward = None
        for hook in self.hooks:
            hook.remove()

    def sightings(self) -> Iterator[Sighting]:
        yield from look_at("input", self.inputs.items())
        yield from look_at_gradients(self.inputs)
        if self.model is not None:
            yield from look_at_model(self.model)
        if self.optimizer is not None:
            yield from look_at_optimizer(self.optimizer, self.names)

    @contextmanager
    def _around_backward(self, roots: Any) -> Iterator[None]:
        before = self.recording.look(self.sightings(), look_at_outputs("loss", roots))
        self.recording.begin("backward", self.step)
        try:
            yield
        finally:
            self.recording.look(self.sightings(), look_at_outputs("loss", roots), freed=before.saved())
            self.recording.begin("optimizer step" if self.stepping else "end of step", self.step)

    def _before_step(self, *_: Any) -> None:
        self.stepping = True
        self.recording.begin("optimizer step", self.step)

    def _after_step(self, *_: Any) -> None:
        self.stepping = False
        self.recording.look(self.sightings())
        self.recording.begin("end of step", self.step)

    def _before_forward(self, *_: Any) -> None:
        """Another forward of the same step, as where gradients accumulate or an optimizer calls a closure."""
        if self.recording.phase.name in ("optimizer step", "end of step"):
            self.recording.begin("forward", self.step)


def _device_of(model: nn.Module | None, inputs: dict[str, torch.Tensor]) -> str:
    tensors = [*([] if model is None else recorded.named_members(model)[0].values()), *inputs.values()]
    return str(tensors[0].device) if tensors else "cpu"
