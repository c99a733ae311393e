"""Activations of a forward: which units are never on, and which sit at the flat end of their function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import torch

from engine.diagnostics.flow import Call
from engine.diagnostics.results import Units
from engine.diagnostics.watch_backward import BackwardWatch, by_unit
from engine.summarise import array_of

MOST_UNITS = 4096
MOST_ROWS = 200
OPENING = {"relu", "relu_", "relu6", "leaky_relu", "elu", "gelu", "silu", "threshold", "hardtanh", "softplus", "selu"}
FLAT: dict[str, tuple[float, float]] = {"sigmoid": (0.01, 0.99), "tanh": (-0.99, 0.99), "hardtanh": (-1.0, 1.0)}
"""Beyond these outputs the slope is below 4 % of the largest for sigmoid, 2 % for tanh."""


class Activity:
    """Counts per unit of what activations return, and the nodes to watch in backward; holds no activation."""

    def __init__(self) -> None:
        self._rows: list[tuple[Units, Any, int]] = []

    def see(self, call: Call, out: Any) -> None:
        """An operation has run."""
        name = call.name.rpartition(".")[2]
        if (name not in OPENING and name not in FLAT) or len(self._rows) >= MOST_ROWS:
            return
        if isinstance(out, torch.Tensor) and out.dim() > 1 and out.is_floating_point() and out.numel():
            axis = 1 if out.dim() == 4 else -1
            self._rows.append((_count(name, by_unit(out, axis), call), out.grad_fn, axis))

    def watch(self, watch: BackwardWatch, ids: Mapping[Any, int]) -> None:
        """Also count the units that no gradient leaves."""
        for _, node, axis in self._rows:
            if node in ids:
                watch.watch_units(node, ids[node], axis)

    def units(self, watch: BackwardWatch | None, ids: Mapping[Any, int]) -> tuple[Units, ...]:
        """The rows, with what backward found."""
        zeros = watch.unit_zeros if watch is not None else {}
        return tuple(
            msgspec.structs.replace(row, without_gradient=zeros.get(ids.get(node, -1))) for row, node, _ in self._rows
        )


def _count(name: str, values: torch.Tensor, call: Call) -> Units:
    """`values` are (samples, units)."""
    samples, units = values.shape
    on = values != 0
    return Units(
        module=call.module,
        operation=name.rstrip("_"),
        source=call.source,
        units=units,
        samples=samples,
        dead=int((~on).all(dim=0).sum()),
        saturated=_saturated(name, values),
        without_gradient=None,
        active_share=array_of(on[:, :MOST_UNITS].double().mean(dim=0)),
    )


def _saturated(name: str, values: torch.Tensor) -> int:
    if name not in FLAT:
        return 0
    low, high = FLAT[name]
    return int(((values <= low) | (values >= high)).all(dim=0).sum())
