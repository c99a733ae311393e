"""summarise: the numbers of a tensor's values, in few passes."""

from __future__ import annotations

import math

import numpy as np
import torch

from engine.runner.contract import Array
from engine.summary import FEW_ELEMENTS, HISTOGRAM_BINS, MAP_SIDE, TensorSummary


def summarise(tensor: torch.Tensor, *, detail: bool = True) -> TensorSummary:
    """The summary of a tensor of any dtype, layout and device; without `detail` no values, map or histogram."""
    given = tensor.detach()
    stored = _stored(given)
    flat = _comparable(stored.reshape(-1))
    finite = torch.isfinite(flat)
    all_finite = bool(finite.all())
    kept = flat if all_finite else flat[finite]
    nans = 0 if all_finite else int(torch.isnan(flat).sum())
    low, high, mean, norm = _moments(kept)
    zeros = flat.numel() - int(torch.count_nonzero(flat)) + given.numel() - flat.numel()
    return TensorSummary(
        shape=tuple(given.shape),
        dtype=str(given.dtype).removeprefix("torch."),
        layout=str(given.layout).removeprefix("torch."),
        device=str(given.device),
        numel=given.numel(),
        norm=norm if flat.numel() else 0.0,
        minimum=low,
        maximum=high,
        mean=mean,
        zeros=zeros,
        nans=nans,
        infinities=0 if all_finite else flat.numel() - kept.numel() - nans,
        values=array_of(given) if detail and given.numel() <= FEW_ELEMENTS else None,
        block_map=_block_map(given) if detail and given.numel() > FEW_ELEMENTS else None,
        histogram=_histogram(kept, low, high) if detail and given.numel() > FEW_ELEMENTS else (),
    )


def array_of(tensor: torch.Tensor) -> Array:
    """All values as float64 (complex128 for complex ones), dense, C order."""
    dense = tensor.detach() if tensor.layout == torch.strided else tensor.detach().to_dense()
    wide = dense.to("cpu", torch.complex128 if dense.is_complex() else torch.float64).resolve_conj().resolve_neg()
    numpy = np.ascontiguousarray(wide.numpy())
    return Array(numpy.dtype.name, tuple(tensor.shape), numpy.tobytes())


def _stored(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout == torch.strided:
        return tensor
    if tensor.layout == torch.sparse_coo:
        return tensor.coalesce().values()
    return tensor.values()


def _comparable(flat: torch.Tensor) -> torch.Tensor:
    """Real floating values that the reductions take: magnitudes of complex ones, wider ones of 8 and 16 bits."""
    if flat.is_complex():
        return flat.abs()
    return flat if flat.dtype in (torch.float32, torch.float64) else flat.to(torch.float64)


def _moments(kept: torch.Tensor) -> tuple[float, float, float, float]:
    """(minimum, maximum, mean, 2-norm), accumulated in float64."""
    if not kept.numel():
        return math.nan, math.nan, math.nan, math.nan
    low, high = torch.aminmax(kept)
    mean = kept.mean(dtype=torch.float64)
    norm = torch.linalg.vector_norm(kept, dtype=torch.float64)
    return float(low), float(high), float(mean), float(norm)


def _histogram(kept: torch.Tensor, low: float, high: float) -> tuple[int, ...]:
    if not kept.numel() or not low < high:
        return (kept.numel(),) if kept.numel() else ()
    counts = torch.histc(kept.to("cpu"), HISTOGRAM_BINS, low, high)
    return tuple(int(count) for count in counts.tolist())


def _block_map(tensor: torch.Tensor) -> Array:
    """Largest magnitude of every block of the tensor as a matrix: leading dimensions are rows, the last columns."""
    dense = tensor if tensor.layout == torch.strided else tensor.to_dense()
    magnitudes = _comparable(dense.reshape(-1)).abs().reshape(-1, max(1, dense.shape[-1])).to("cpu", torch.float64)
    if magnitudes.shape[1] < MAP_SIDE < magnitudes.shape[0]:
        magnitudes = magnitudes.reshape(-1)
        side = math.isqrt(magnitudes.numel())
        padding = -magnitudes.numel() % side
        magnitudes = torch.nn.functional.pad(magnitudes, (0, padding)).reshape(-1, side)
    magnitudes = torch.where(torch.isfinite(magnitudes), magnitudes, math.nan)
    pooled = torch.nn.functional.adaptive_max_pool2d(
        magnitudes[None], tuple(min(MAP_SIDE, n) for n in magnitudes.shape)
    )
    numpy = np.ascontiguousarray(pooled[0].numpy())
    return Array("float64", numpy.shape, numpy.tobytes())
