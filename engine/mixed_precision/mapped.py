"""Both runs of a model put together: recorded operations side by side, casts, memory, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

import msgspec
import torch

from engine import recorded
from engine.gradients.leaves import clear, gradients_of
from engine.graph.model_run import pytorch_error
from engine.graph.recording import record_forward
from engine.graph.roots import named_tensors
from engine.graph.spec import PyTorchError
from engine.graph.walk import read_graph
from engine.higher_order.allocated import peak_bytes
from engine.mixed_precision.beside import beside_plain
from engine.mixed_precision.calls import Attributed, Leaves, attribute, casts_in, weight_uses
from engine.mixed_precision.errors import Outputs, apart, gradients_apart, layer_errors
from engine.mixed_precision.recorder import Recorder, dtype_of, record_operations
from engine.mixed_precision.results import Held, Phase, TensorKind, WeightCasts
from engine.mixed_precision.saved import Slots, kept_twice, measure_saved, saved_slots
from engine.mixed_precision.spec import AutocastMap, AutocastSpec
from engine.models.build import Built, build
from engine.pytorch_said import attempt
from engine.recorded_mixed_precision import without_modes
from engine.runner.contract import ProgressSink

Context = Callable[[], AbstractContextManager[Any]]


@dataclass
class Run:
    """One recorded forward, loss and backward."""

    recorder: Recorder
    outputs: dict[str, torch.Tensor] = field(default_factory=dict)
    loss: torch.Tensor | None = None
    gradients: dict[str, torch.Tensor | None] = field(default_factory=dict)
    slots: Slots = field(default_factory=dict)
    error: PyTorchError | None = None


def map_run(spec: AutocastSpec, progress: ProgressSink) -> AutocastMap:
    """The plain run, the run under autocast, the same with the cache the other way, and their memory."""
    progress("building the model", 0.0)
    built = build(spec.model)
    under, other = _autocast(spec, spec.cache_enabled), _autocast(spec, not spec.cache_enabled)
    leaves = leaves_by_storage(built)
    progress("plain run", 0.1)
    before = Outputs(alone_under=under)
    plain = record_run(built, nullcontext, before)
    progress("run under autocast", 0.35)
    after = Outputs()
    run = record_run(built, under, after)
    found = attribute(run.recorder.seen, spec.model.device, spec.dtype)
    progress("the cache the other way", 0.6)
    opposite = record_run(built, other, Outputs(), backward=False)
    opposite_found = attribute(opposite.recorder.seen, spec.model.device, spec.dtype)
    weights = _weights(built, spec.cache_enabled, (run, found), (opposite, opposite_found), leaves)
    opposite.recorder.forget_storages()
    progress("counting bytes", 0.75)
    held = [measure_held(built, context, leaves) for context in (under, nullcontext)]
    held.append(measure_held(built, other, leaves, peak=False))
    progress("comparing", 0.9)
    return _result(plain, run, found, leaves, weights, held, layer_errors(before, after))


def _autocast(spec: AutocastSpec, cache_enabled: bool) -> Context:
    dtype = getattr(torch, spec.dtype)
    return lambda: torch.autocast(spec.model.device, dtype=dtype, cache_enabled=cache_enabled)


def leaves_by_storage(built: Built) -> Leaves:
    """Weights, buffers and inputs of a model, the target of its loss among them, by the storage that holds them."""
    parameters, buffers = recorded.named_members(built.model)
    found: dict[int, tuple[str, TensorKind]] = {}
    groups: tuple[tuple[dict[str, torch.Tensor], TensorKind], ...] = (
        (parameters, "weight"),
        (buffers, "buffer"),
        (built.inputs, "input"),
        ({} if built.target is None else {"target": built.target}, "input"),
    )
    for named, kind in groups:
        for name, tensor in named.items():
            for key, _ in recorded.storages_of(tensor):
                found.setdefault(key, (name, kind))
    return found


def record_run(built: Built, context: Context, outputs: Outputs, backward: bool = True) -> Run:
    """One forward and loss in `context`, then backward outside of it, as PyTorch's documentation has it."""
    clear(built)
    with ExitStack() as stack:
        stack.enter_context(outputs.watch(built.model))
        recorder = stack.enter_context(record_operations())
        recorder.recording = stack.enter_context(record_forward(built.model, sources=False))
        run = Run(recorder)
        stage: Phase = "forward"
        try:
            with context():
                given = built.forward()
                run.outputs = {
                    name: one for name, one in named_tensors(given, "output") if isinstance(one, torch.Tensor)
                }
                stage = recorder.phase = "loss"
                run.loss = built.loss(given)
            if backward:
                _read_slots(run, built)
                stage = recorder.phase = "backward"
                run.loss.backward()  # type: ignore[no-untyped-call]
        except Exception as error:
            run.error = pytorch_error(stage, error)
    run.gradients = gradients_of(built)
    clear(built)
    return run


def _read_slots(run: Run, built: Built) -> None:
    """Before backward frees them."""
    assert run.loss is not None
    with without_modes():
        _, ids = read_graph([("loss", run.loss)], built.model, built.inputs)
        run.slots = saved_slots(ids)
        ids.clear()


def _weights(
    built: Built, cache_enabled: bool, run: tuple[Run, Attributed], other: tuple[Run, Attributed], leaves: Leaves
) -> tuple[WeightCasts, ...]:
    mine, theirs = (weight_uses(one.recorder.seen, found, leaves) for one, found in (run, other))
    on, off = (mine, theirs) if cache_enabled else (theirs, mine)
    return tuple(
        WeightCasts(
            name=name,
            bytes=tensor.numel() * tensor.element_size(),
            uses=mine[name][0],
            cache_on=on.get(name, (0, 0))[1],
            cache_off=off.get(name, (0, 0))[1],
            requires_grad=tensor.requires_grad,
        )
        for name, tensor in recorded.named_members(built.model)[0].items()
        if name in mine
    )


def measure_held(built: Built, context: Context, leaves: Leaves, *, peak: bool = True) -> Held:
    """Saved bytes of a forward with its loss, and the peak of a whole step; None where PyTorch refuses."""

    def forward() -> torch.Tensor:
        with context():
            return built.loss(built.forward())

    def step() -> None:
        forward().backward()  # type: ignore[no-untyped-call]

    saved, _ = attempt(lambda: measure_saved(forward, leaves))
    clear(built)
    most, _ = attempt(lambda: peak_bytes(step)) if peak else (None, None)
    clear(built)
    return msgspec.structs.replace(saved or Held(), peak_bytes=most)


def _result(
    plain: Run,
    run: Run,
    found: Attributed,
    leaves: Leaves,
    weights: tuple[WeightCasts, ...],
    held: Sequence[Held],
    layers: Any,
) -> AutocastMap:
    gradients, every = gradients_apart(plain.gradients, run.gradients)
    result = AutocastMap(
        operations=beside_plain(run.recorder, found, plain.recorder, run.slots, leaves),
        calls=found.calls,
        casts=casts_in(run.recorder.seen, found, leaves),
        weights=weights,
        kept_twice=kept_twice(run.recorder.seen, found, leaves, run.slots),
        plain_operations=len(plain.recorder.seen),
        held=held[0],
        held_plain=held[1],
        held_other_cache=held[2],
        outputs=tuple(apart(name, one, run.outputs.get(name)) for name, one in plain.outputs.items()),
        layers=layers,
        gradients=gradients,
        all_gradients=every,
        loss=_number(run.loss),
        loss_plain=_number(plain.loss),
        loss_dtype=dtype_of(run.loss) if run.loss is not None else "",
        loss_dtype_plain=dtype_of(plain.loss) if plain.loss is not None else "",
        error=run.error,
        error_plain=plain.error,
    )
    for one in (plain, run):
        one.recorder.forget_storages()
    return result


def _number(loss: torch.Tensor | None) -> float | None:
    return None if loss is None else float(loss.detach())
