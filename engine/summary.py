"""What is told of a tensor's values: the row that replay, gradients and diagnostics share, without torch."""

from __future__ import annotations

import msgspec

from engine.runner.contract import Array

FEW_ELEMENTS = 1024
"""Up to this many elements the values travel in full; of larger tensors a histogram and a map of blocks."""
MAP_SIDE = 32
HISTOGRAM_BINS = 48


class TensorSummary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Values of one tensor in numbers; of complex ones the magnitudes, of sparse ones the stored values.

    `norm` is the 2-norm; it, minimum, maximum, mean are over finite elements (nan where there is none).
    `values` holds all elements (float64 or complex128, C order, shape of the tensor) of up to FEW_ELEMENTS; otherwise
    `block_map` holds the largest magnitude of blocks (a matrix of at most MAP_SIDE x MAP_SIDE; NaN where a block has
    a non-finite element) and `histogram` the counts of finite elements in equal bins from minimum to maximum.
    """

    shape: tuple[int, ...]
    dtype: str
    layout: str
    device: str
    numel: int
    norm: float
    minimum: float
    maximum: float
    mean: float
    zeros: int
    nans: int
    infinities: int
    values: Array | None = None
    block_map: Array | None = None
    histogram: tuple[int, ...] = ()

    @property
    def non_finite(self) -> int:
        return self.nans + self.infinities

    @property
    def zero_share(self) -> float:
        """Of all elements; elements a sparse layout does not store count as zeros."""
        return self.zeros / self.numel if self.numel else 0.0
