"""Contiguous against channels_last by the clock: the whole model, and each distinct convolution alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch.nn import functional as F  # noqa: N812

from engine.memory_format.convolutions import Call, distinct_calls
from engine.memory_format.spec import ConvolutionTiming, FormatTiming, FormatTimingSpec
from engine.models.build import Built
from engine.runner.contract import ProgressSink
from engine.runner.faults import is_memory_error
from engine.timing import compare
from engine.timing.spec import Comparison

FORWARD_SHARE, TRAINING_SHARE = 0.25, 0.45
"""Of the budget; convolutions share the rest."""
FEWEST_CALLS = 6
"""Of each: one to warm up and five rounds."""
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


class _Clocked:
    """Comparisons within one budget; what was not timed keeps its reason."""

    def __init__(self, spec: FormatTimingSpec, progress: ProgressSink) -> None:
        self.spec, self.progress, self.start = spec, progress, time.monotonic()
        self.device = "" if spec.model.device == "cpu" else spec.model.device

    @property
    def left_s(self) -> float:
        return self.spec.budget_s - (time.monotonic() - self.start)

    def compare(self, what: str, work: Mapping[str, Callable[[], object]], budget_s: float) -> Comparison | str:
        """The comparison, or why there is none."""
        if self.left_s <= 0:
            return f"the budget of {self.spec.budget_s:g} s was used up"
        try:
            once_s = _seconds_of(work)
            if (needed_s := FEWEST_CALLS * once_s) > self.left_s:
                return f"one call of each takes {once_s:.2g} s; the least comparison, {needed_s:.2g} s, is over budget"
            return compare(
                work,
                rounds=self.spec.rounds,
                device=self.device,
                budget_s=budget_s,
                on_progress=lambda stage, part: self.progress(f"{what}: {stage}", self._fraction()),
            )
        except Exception as error:
            if is_memory_error(error):
                raise
            return f"{type(error).__name__}: {error}"

    def _fraction(self) -> float:
        return min(0.99, max(0.0, 1 - self.left_s / self.spec.budget_s))


def _seconds_of(work: Mapping[str, Callable[[], object]]) -> float:
    """Wall seconds of calling each once, first calls included."""
    start = time.monotonic()
    for call in work.values():
        call()
    return time.monotonic() - start


def time_formats(spec: FormatTimingSpec, built: Mapping[str, Built], progress: ProgressSink) -> FormatTiming:
    """Time both models in interleaved rounds, then the model's convolutions alone, largest first."""
    clocked = _Clocked(spec, progress)
    # Seen before the rounds: a convolution's shapes do not depend on the format.
    calls = _calls(built["contiguous"])
    forward = clocked.compare(
        "forward", {name: partial(_forward, one) for name, one in built.items()}, FORWARD_SHARE * spec.budget_s
    )
    both = clocked.compare(
        "forward and backward",
        {name: partial(_train, one) for name, one in built.items()},
        TRAINING_SHARE * spec.budget_s,
    )
    reasons = {"forward": forward, "forward and backward": both}
    return FormatTiming(
        forward=_found(forward),
        forward_and_backward=_found(both),
        convolutions=tuple(_convolutions(clocked, calls, built["contiguous"])),
        not_timed=tuple((name, reason) for name, reason in reasons.items() if isinstance(reason, str)),
    )


def _calls(built: Built) -> list[Call]:
    try:
        return distinct_calls(built.model, built.forward)
    except RuntimeError as error:
        if is_memory_error(error):
            raise
        return []


def _found(outcome: Comparison | str) -> Comparison | None:
    return None if isinstance(outcome, str) else outcome


def _forward(built: Built) -> object:
    return built.forward()


def _train(built: Built) -> object:
    for parameter in built.model.parameters():
        parameter.grad = None
    loss = built.loss(built.forward())
    loss.backward()  # type: ignore[no-untyped-call]
    return loss


def _convolutions(clocked: _Clocked, calls: list[Call], built: Built) -> list[ConvolutionTiming]:
    kept = sorted(calls, key=lambda call: -call.flops * call.times)[: clocked.spec.convolutions]
    rows = []
    for number, call in enumerate(kept):
        share = clocked.left_s / (len(kept) - number)
        name = f"convolution {number + 1} of {len(kept)}"
        rows.append(call.timed(clocked.compare(name, _alone(call, built), max(share, 0.1))))
    return rows


def _alone(call: Call, built: Built) -> dict[str, Callable[[], object]]:
    """The convolution with random operands of the model's dtype, in both formats, without autograd."""
    dtype, device = call.dtype, built.spec.device
    x = torch.randn(call.input_shape, device=device).to(dtype)
    weight = torch.randn(call.weight_shape, device=device).to(dtype)

    def run(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), built.autocast():
            return F.conv2d(x, weight, None, call.stride, call.padding, 1, call.groups)

    return {
        name: partial(run, x.contiguous(memory_format=layout), weight.contiguous(memory_format=layout))
        for name, layout in FORMATS.items()
    }
