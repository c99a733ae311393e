"""profile_program and measure_profiling_cost: one run under torch.profiler, and what that adds to it."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec
from torch.profiler import ProfilerActivity, profile

from engine.models.build import build
from engine.models.build import price as price_model
from engine.profiler.programs import ModelStep, program_of
from engine.profiler.reading import read_profile, synchronise
from engine.profiler.snapshot import pickled
from engine.profiler.spec import Profiled, ProfileSpec, ProfilingCost, ProfilingCostSpec
from engine.recorded_profiler import cuda_history, event_count
from engine.runner.contract import MEBIBYTE, Price, ProgressSink
from engine.timing import compare
from engine.timing.clock import torch_threads

BUDGET_S = 40.0
MOST_SNAPSHOT_BYTES = 16 * MEBIBYTE


def price(spec: ProfileSpec | ProfilingCostSpec) -> Price | None:
    """What building and running the model will need; the lines of the issue need next to nothing."""
    if isinstance(spec, ProfileSpec) and spec.program != "the model":
        return None
    found = price_model(spec.model)
    if isinstance(spec, ProfileSpec) and spec.part == "training step":
        more = found.predicted_bytes * 2
        return msgspec.structs.replace(found, predicted_bytes=more, what=f"{found.what}, and the optimizer's state")
    return found


def profile_program(spec: ProfileSpec, progress: ProgressSink) -> Profiled:
    """torch's own table of one run, with every block followed from the operation that allocated it to who freed it."""
    progress("building", 0.0)
    device = spec.model.device if spec.program == "the model" else "cpu"
    with torch_threads(spec.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = program_of(spec)
        if spec.warm_up:
            progress("running once, unprofiled", 0.1)
            program.run()
            program.forget()
        gc.collect()
        progress("profiling", 0.3)
        with cuda_history(device) as history, _profiler(spec, device) as recorded:
            program.run()
            synchronise(device)
        found = read_profile(spec, recorded, program, progress)
    return _with_snapshot(found, history[0]) if history else found


def _with_snapshot(found: Profiled, snapshot: dict[str, Any]) -> Profiled:
    """CUDA's own snapshot beside the rest, where it can be handed over."""
    try:
        written = pickled(snapshot)
    except TypeError as error:
        return msgspec.structs.replace(found, notes=(*found.notes, f"CUDA's snapshot could not be written: {error}"))
    if len(written) > MOST_SNAPSHOT_BYTES:
        note = f"CUDA's snapshot takes {len(written):,} bytes; the limit is {MOST_SNAPSHOT_BYTES:,}. Profile less."
        return msgspec.structs.replace(found, notes=(*found.notes, note))
    return msgspec.structs.replace(found, device_snapshot=written)


def _profiler(spec: ProfileSpec, device: str) -> profile:
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    return profile(
        activities=activities,
        profile_memory=True,
        with_flops=True,
        record_shapes=spec.record_shapes,
        with_stack=spec.with_stack,
    )


SETTINGS: dict[str, dict[str, bool] | None] = {
    "plain": None,
    "profile()": {},
    "profile_memory": {"profile_memory": True},
    "+ record_shapes": {"profile_memory": True, "record_shapes": True},
    "+ with_stack": {"profile_memory": True, "record_shapes": True, "with_stack": True},
}
"""What is compared, by name: the arguments of torch.profiler.profile, None for no profiler at all."""


def measure_profiling_cost(spec: ProfilingCostSpec, progress: ProgressSink) -> ProfilingCost:
    """The same forward and backward with and without a profiler, in interleaved rounds."""
    progress("building", 0.0)
    step = ModelStep(build(spec.model), ProfileSpec(model=spec.model))
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if spec.model.device == "cuda" else [])]
    last: list[Any] = []

    def under(arguments: dict[str, bool] | None) -> Callable[[], None]:
        def work() -> None:
            step.forget()
            last.clear()
            around: AbstractContextManager[Any] = nullcontext()
            if arguments is not None:
                around = profile(activities=activities, **arguments)  # type: ignore[arg-type]
            with around as recorded:
                step.run()
            last.append(recorded)

        return work

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        works = {name: under(arguments) for name, arguments in SETTINGS.items()}
        found = compare(
            works, rounds=spec.rounds, warm_up_rounds=1, budget_s=BUDGET_S, device=_device(spec), on_progress=progress
        )
        works["+ with_stack"]()
        begin = time.perf_counter()
        last[0].key_averages()
        reading = time.perf_counter() - begin
    return ProfilingCost(comparison=found, events=event_count(last[0]), reading_s=reading, error=step.error)


def _device(spec: ProfilingCostSpec) -> str:
    return "" if spec.model.device == "cpu" else spec.model.device
