"""Named tensors inside whatever a forward returns or takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch

DEEPEST = 32
"""Nesting followed before giving up: real outputs nest a few levels, a container holding itself never ends."""


def named_tensors(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, torch.Tensor | str]]:
    """Yield (name, tensor), or (name, note) for what is no tensor, over tuples, lists, mappings and dataclasses."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth >= DEEPEST:
        yield name, f"nested deeper than {DEEPEST} levels: not followed"
    elif (entries := _entries(value, name)) is not None:
        for path, entry in entries:
            yield from named_tensors(entry, path, depth + 1)
    else:
        yield name, "None" if value is None else f"{type(value).__name__}, not a tensor"


def _entries(value: Any, name: str) -> list[tuple[str, Any]] | None:
    if isinstance(value, Mapping):
        return [(f"{name}[{key!r}]", entry) for key, entry in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f"{name}.{field}", getattr(value, field)) for field in value._fields]
    if isinstance(value, (tuple, list)):
        return [(f"{name}[{index}]", entry) for index, entry in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f"{name}.{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
    return None


def named_inputs(inputs: Any) -> dict[str, torch.Tensor]:
    """The tensors of `inputs` by name: a mapping's keys name them, anything else counts as input, input[0], ..."""
    if isinstance(inputs, Mapping):
        found = [pair for key, value in inputs.items() for pair in named_tensors(value, str(key))]
    else:
        found = list(named_tensors(inputs, "input"))
    return {name: value for name, value in found if isinstance(value, torch.Tensor)}
