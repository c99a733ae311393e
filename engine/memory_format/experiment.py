"""trace_model_formats: build a model, follow its formats; measure_formats: time both formats."""

from __future__ import annotations

import msgspec
import torch

from engine.memory_format.spec import FormatSpec, FormatTiming, FormatTimingSpec, FormatTrace
from engine.memory_format.timed import time_formats
from engine.memory_format.trace import FormatRun
from engine.models.build import Built, build
from engine.models.build import price as price_model
from engine.models.spec import ModelSpec
from engine.runner.contract import Price, ProgressSink


def price(spec: FormatSpec | FormatTimingSpec) -> Price:
    """What building and running the model will need; timing keeps it once in each format."""
    model = price_model(spec.model)
    if isinstance(spec, FormatSpec):
        return model
    return Price(predicted_bytes=2 * model.predicted_bytes, what=f"the model in both formats, each: {model.what}")


def trace_model_formats(spec: FormatSpec, progress: ProgressSink) -> FormatTrace:
    """Formats of every operation of one forward, its loss and its backward."""
    progress("building the model", 0.0)
    built = build_converted(spec)
    progress("forward and backward", 0.3)
    run = FormatRun(built.model, built.inputs)
    return run.run(built.forward, built.loss if spec.backward else None)


def build_converted(spec: FormatSpec) -> Built:
    """The model of `spec`, with what `converted` leaves out in contiguous format."""
    if spec.model.memory_format == "contiguous" or spec.converted == "model and inputs":
        return build(spec.model)
    plain = build(msgspec.structs.replace(spec.model, memory_format="contiguous"))
    if spec.converted == "model only":
        plain.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return plain
    for name, tensor in plain.inputs.items():
        converted = tensor.detach().to(memory_format=torch.channels_last)
        plain.inputs[name] = converted.requires_grad_(tensor.requires_grad)
    return plain


def measure_formats(spec: FormatTimingSpec, progress: ProgressSink) -> FormatTiming:
    """Contiguous against channels_last: whole model and each distinct convolution."""
    models: dict[str, ModelSpec] = {
        name: msgspec.structs.replace(spec.model, memory_format=name) for name in ("contiguous", "channels_last")
    }
    progress("building the model in both formats", 0.0)
    return time_formats(spec, {name: build(model) for name, model in models.items()}, progress)
