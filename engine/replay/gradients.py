"""Every gradient that went by, each distinct tensor summarised once."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable

import torch

from engine import recorded
from engine.runner.faults import is_memory_error
from engine.summarise import summarise
from engine.summary import FEW_ELEMENTS, HISTOGRAM_BINS, MAP_SIDE, TensorSummary

DETAIL_BYTES = 16 << 20
"""For values, maps and histograms of all gradients together; the result as a whole may have 48 MiB."""
_OF_A_LARGE_ONE = 8 * (MAP_SIDE**2 + HISTOGRAM_BINS)

Known = tuple["weakref.ref[torch.Tensor]", int | None, int]


class Gradients:
    """Summaries by index; a tensor is told again by identity and version as long as it lives, and is not kept alive."""

    def __init__(self) -> None:
        self.summaries: list[TensorSummary] = []
        self.without_detail = 0
        self._detail_bytes = 0
        self._known: dict[int, Known] = {}

    def index(self, tensor: torch.Tensor) -> int:
        """The index of the tensor's summary, made when it is met for the first time or was changed in place."""
        version = recorded.version_of(tensor)
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] == version:
            return known[2]
        number = len(self.summaries)
        self.summaries.append(self._summary(tensor))
        self.remember(tensor, number)
        return number

    def remember(self, tensor: torch.Tensor, number: int) -> None:
        """From now on this tensor is summary `number`."""
        self._known[id(tensor)] = weakref.ref(tensor), recorded.version_of(tensor), number

    def indices(self, tensors: Iterable[torch.Tensor | None]) -> tuple[int | None, ...]:
        """The same for several, None staying None."""
        return tuple(None if tensor is None else self.index(tensor) for tensor in tensors)

    def _summary(self, tensor: torch.Tensor) -> TensorSummary:
        few = tensor.numel() <= FEW_ELEMENTS
        wanted = tensor.numel() * (16 if tensor.is_complex() else 8) if few else _OF_A_LARGE_ONE
        detail = self._detail_bytes + wanted <= DETAIL_BYTES
        if detail:
            self._detail_bytes += wanted
        else:
            self.without_detail += 1
        try:
            return summarise(tensor, detail=detail)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            if is_memory_error(error):
                raise
            return _unreadable(tensor)


def _unreadable(tensor: torch.Tensor) -> TensorSummary:
    """What is left of a tensor whose values PyTorch does not let be reduced (nested, quantised, opaque)."""
    return TensorSummary(
        shape=() if tensor.is_nested else tuple(tensor.shape),
        dtype=str(tensor.dtype).removeprefix("torch."),
        layout=str(tensor.layout).removeprefix("torch."),
        device=str(tensor.device),
        numel=tensor.numel(),
        norm=math.nan,
        minimum=math.nan,
        maximum=math.nan,
        mean=math.nan,
        zeros=0,
        nans=0,
        infinities=0,
    )
