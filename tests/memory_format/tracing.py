"""Traces for the tests of this folder, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest

from engine import run
from engine.memory_format.spec import FormatSpec, FormatTrace, Operation
from engine.models.spec import ConvNet, ModelSpec


@cache
def traced(model: ModelSpec, converted: str = "model and inputs", backward: bool = True) -> FormatTrace:
    return run(FormatSpec(model=model, converted=converted, backward=backward), inline=True)


def conv_net(block: str, memory_format: str = "channels_last", **changes) -> ModelSpec:
    architecture = ConvNet(block=block, layers=2, channels=8, image_size=8, classes=5)
    return ModelSpec(architecture=architecture, memory_format=memory_format, **changes)


def forward(trace: FormatTrace) -> list[Operation]:
    return [op for op in trace.operations if op.phase == "forward"]


def lost(trace: FormatTrace) -> Operation:
    assert trace.lost_at is not None
    return trace.operations[trace.lost_at]


def quick(values: Iterable[Any], kept: Callable[[Any], bool]) -> list[Any]:
    """Test parameters of which the default suite runs the kept ones, the slow one all."""
    return [pytest.param(value, marks=[] if kept(value) else [pytest.mark.slow]) for value in values]


def differs_in_kind(block: Any) -> bool:
    """Blocks that stand for the others: a copying reshape, permutes, a product of two formats."""
    return block in ("channel_shuffle", "convnext", "one_hot_first")
