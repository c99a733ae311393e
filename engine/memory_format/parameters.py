"""Strides of parameters beside those of their gradients."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from engine.memory_format.order import dims_by_stride, format_of
from engine.memory_format.spec import ParameterFormat


def parameter_formats(parameters: Mapping[str, torch.Tensor]) -> tuple[ParameterFormat, ...]:
    """One row per parameter; sparse gradients have no strides and count as none."""
    return tuple(_row(name, parameter) for name, parameter in parameters.items())


def _row(name: str, parameter: torch.Tensor) -> ParameterFormat:
    shape, stride, format_ = tuple(parameter.shape), parameter.stride(), format_of(parameter)
    gradient = parameter.grad
    if gradient is None or gradient.layout is not torch.strided:
        return ParameterFormat(name, shape, stride, format_, None, None)
    differs = gradient.stride() != stride
    return ParameterFormat(
        name,
        shape,
        stride,
        format_,
        gradient.stride(),
        format_of(gradient),
        differs,
        differs and dims_by_stride(gradient) != dims_by_stride(parameter),
    )
