"""Private names of torch that only the page on in-place operations needs (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from engine.recorded import version_of

_set_versions: Callable[[Any, Any], None] = torch._C._autograd._unsafe_set_version_counter

TensorTable: Any = WeakIdKeyDictionary
"""A dictionary by tensor identity that keeps no tensor alive."""


def share_counter(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors have one version counter: it is raised through the first, looked at, and set back."""
    before, other = version_of(first), version_of(second)
    if before is None or other is None or before != other:
        return False
    torch.autograd.graph.increment_version(first)
    shared = version_of(second) != other
    _set_versions((first,), (before,))
    return shared
