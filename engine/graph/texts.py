"""Values PyTorch keeps on nodes, as short text; dtypes and devices named once."""

from __future__ import annotations

from typing import Any

import torch

LONGEST = 120
UNSIGNED_WRAP = 2**63
"""Negative dimensions are stored unsigned: -1 reads back as 2**64 - 1."""

_PLAIN = (bool, float, complex, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


class _Names(dict[Any, str]):
    """dtype or device -> its name, worked out once: `float32`, `cuda:0`."""

    def __missing__(self, value: Any) -> str:
        name = self[value] = str(value).removeprefix("torch.")
        return name


NAMES = _Names()


def attribute_text(value: Any) -> str:
    """An attribute as text of at most LONGEST characters; user objects by type name only, never by their own repr."""
    text = _text(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value - 2**64 if value >= UNSIGNED_WRAP else int(value))
    if isinstance(value, str):
        return repr(value[:LONGEST])
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {tuple(value.shape)} {NAMES[value.dtype]}"
    if isinstance(value, _PLAIN):
        return str(value)
    if isinstance(value, (tuple, list, torch.Size)):
        shown = ", ".join(_text(entry) for entry in value[:LONGEST])
        return f"({shown},)" if len(value) == 1 else f"({shown})"
    return str(value) if isinstance(value, (torch.SymInt, torch.SymFloat)) else type(value).__name__
