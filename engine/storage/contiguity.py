"""How `is_contiguous` decides, for every memory format, dimension by dimension.

A dimension of size 1 is skipped, because its stride is never used: that is why one tensor can have several formats.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from engine.storage.spec import FORMAT_DIMS, MemoryFormat

Ints = tuple[int, ...]

_ORDER: dict[str, Ints] = {"channels_last": (1, 3, 2, 0), "channels_last_3d": (1, 4, 3, 2, 0)}
"""Dimensions from the densest to the outermost."""


class DimCheck(msgspec.Struct, frozen=True):
    """One dimension in the order it is checked: the stride it has and the one that is expected."""

    dim: int
    size: int
    stride: int
    expected: int
    verdict: Literal["matches", "skipped", "differs"]


class ContiguityRule(msgspec.Struct, frozen=True, kw_only=True):
    """How `is_contiguous(memory_format=...)` is decided; checks end at the first that differs."""

    memory_format: MemoryFormat
    is_contiguous: bool
    checks: tuple[DimCheck, ...]
    reason: str


class Ambiguity(msgspec.Struct, frozen=True, kw_only=True):
    """Formats that a tensor has at once, the dimensions of size 1 that make it so, and a sentence; "" for none."""

    formats: tuple[MemoryFormat, ...]
    dims: Ints
    words: str


def is_contiguous_like(shape: Ints, stride: Ints, memory_format: MemoryFormat) -> ContiguityRule:
    """Whether `shape` and `stride` (elements) have that memory format, as PyTorch decides it, and why."""
    if (needed := FORMAT_DIMS.get(memory_format, len(shape))) != len(shape):
        words = f"{memory_format} is a format of {needed} dimensions; there are {len(shape)}."
        return ContiguityRule(memory_format=memory_format, is_contiguous=False, checks=(), reason=words)
    if memory_format == "contiguous" and math.prod(shape) == 0:
        words = "There is no element, so there is none out of order."
        return ContiguityRule(memory_format=memory_format, is_contiguous=True, checks=(), reason=words)
    checks = _checks(shape, stride, _ORDER.get(memory_format, tuple(range(len(shape)))[::-1]))
    return ContiguityRule(
        memory_format=memory_format,
        is_contiguous=not checks or checks[-1].verdict != "differs",
        checks=checks,
        reason=_reason(checks),
    )


def _checks(shape: Ints, stride: Ints, order: Ints) -> tuple[DimCheck, ...]:
    found, expected = [], 1
    for dim in order:
        same = stride[dim] == expected
        verdict: Literal["matches", "skipped", "differs"] = "matches" if same else "differs"
        found.append(DimCheck(dim, shape[dim], stride[dim], expected, "skipped" if shape[dim] == 1 else verdict))
        if found[-1].verdict == "differs":
            break
        expected *= shape[dim]
    return tuple(found)


def _reason(checks: tuple[DimCheck, ...]) -> str:
    skipped = [check.dim for check in checks if check.verdict == "skipped"]
    aside = f" Size 1 is not looked at: dimension {', '.join(map(str, skipped))}." if skipped else ""
    if checks and checks[-1].verdict == "differs":
        last = checks[-1]
        return f"Dimension {last.dim} has stride {last.stride} where {last.expected} is expected.{aside}"
    return f"Every stride is the product of the sizes inside it.{aside}"


def explain_ambiguity(shape: Ints, stride: Ints) -> Ambiguity:
    """The formats a tensor has at once: (N, 1, H, W) and (N, C, 1, 1) are both contiguous and channels_last."""
    formats: tuple[MemoryFormat, ...] = ("contiguous", "channels_last", "channels_last_3d")
    found = tuple(f for f in formats if is_contiguous_like(shape, stride, f).is_contiguous)
    dims = tuple(dim for dim, size in enumerate(shape) if size == 1)
    if len(found) < 2:
        return Ambiguity(formats=found, dims=dims, words="")
    why = f"dimension {', '.join(map(str, dims))} has size 1 and its stride is never looked at"
    if math.prod(shape) == 0:
        why = "it has no element"
    return Ambiguity(
        formats=found,
        dims=dims,
        words=f"It is {' and '.join(found)} at once: {why}. So .contiguous(memory_format=...) returns the very same "
        f"tensor for each of them. .to(memory_format=...) goes by the strides instead, and can copy to rewrite them.",
    )
