"""The distinct convolutions a model runs: shapes, arguments, and how often."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from engine.memory_format.spec import ConvolutionTiming
from engine.timing.spec import Comparison


@dataclass
class Call:
    """One distinct convolution; `flops` of one call, two per multiply and add."""

    module: str
    input_shape: tuple[int, ...]
    weight_shape: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    groups: int
    dtype: torch.dtype
    flops: int
    times: int = 0

    def timed(self, outcome: Comparison | str) -> ConvolutionTiming:
        """Its row: the comparison, or why there is none."""
        reason = outcome if isinstance(outcome, str) else ""
        return ConvolutionTiming(
            module=self.module,
            times=self.times,
            input_shape=self.input_shape,
            weight_shape=self.weight_shape,
            stride=self.stride,
            padding=self.padding,
            groups=self.groups,
            flops=self.flops,
            comparison=None if isinstance(outcome, str) else outcome,
            not_timed=reason,
        )


def distinct_calls(model: nn.Module, forward: Callable[[], Any]) -> list[Call]:
    """Every nn.Conv2d that one forward runs, equal ones counted together, in order of the first."""
    found: dict[tuple[Any, ...], Call] = {}

    def note(path: str) -> Callable[..., None]:
        def hook(module: nn.Conv2d, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            call = _call(path, module, inputs[0], output)
            key = (call.input_shape, call.weight_shape, call.stride, call.padding, call.groups)
            found.setdefault(key, call).times += 1

        return hook

    convolutions = [(path, module) for path, module in model.named_modules() if isinstance(module, nn.Conv2d)]
    handles = [module.register_forward_hook(note(path)) for path, module in convolutions]
    try:
        with torch.no_grad():
            forward()
    finally:
        for handle in handles:
            handle.remove()
    return list(found.values())


def _call(path: str, module: nn.Conv2d, x: torch.Tensor, output: torch.Tensor) -> Call:
    padding = module.padding if isinstance(module.padding, tuple) else (0, 0)
    return Call(
        module=path,
        input_shape=tuple(x.shape),
        weight_shape=tuple(module.weight.shape),
        stride=tuple(module.stride),
        padding=tuple(padding),
        groups=module.groups,
        dtype=module.weight.dtype,
        flops=2 * output.numel() * math.prod(module.weight.shape[1:]),
    )
