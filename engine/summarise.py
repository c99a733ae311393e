"""summarise: the numbers of a tensor's values, in few passes; numpy reduces small arrays ten times as fast as torch."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from engine.runner.contract import Array
from engine.summary import FEW_ELEMENTS, HISTOGRAM_BINS, MAP_SIDE, TensorSummary

Reals = npt.NDArray[np.floating[Any]]

_PART = 1 << 13
"""Elements whose double-precision copy stays in a processor's cache, and in memory malloc has at hand."""
_FLOATS = {torch.float32: torch.float32, torch.float16: torch.float32, torch.bfloat16: torch.float32}
"""Dtypes that float32 holds exactly; all others are widened to float64."""
_SQUARES_ROUND = 1e-280
"""Below it, as above the largest double, a sum of squares has lost digits."""
_SPANS = (1e-37, 1e38)
"""Differences that float32 holds in full."""

_texts: dict[Any, str] = {}


class Moments(NamedTuple):
    """Of finite elements, summed in float64; nan where there is none."""

    minimum: float
    maximum: float
    mean: float
    norm: float


def summarise(tensor: torch.Tensor, *, detail: bool = True) -> TensorSummary:
    """The summary of a tensor of any dtype, layout and device; without `detail` no values, map or histogram."""
    given = tensor.detach()
    numel = given.numel()
    flat = _reals(_stored(given)).reshape(-1)
    kept, moments = flat, _moments(flat)
    if not math.isfinite(moments.norm):
        kept = flat[np.isfinite(flat)]
        moments = _moments(kept)
    nans = 0 if kept is flat else int(np.count_nonzero(np.isnan(flat)))
    is_large = detail and numel > FEW_ELEMENTS
    return TensorSummary(
        shape=tuple(given.shape),
        dtype=_text(given.dtype),
        layout=_text(given.layout),
        device=_text(given.device),
        numel=numel,
        norm=moments.norm if flat.size else 0.0,
        minimum=moments.minimum,
        maximum=moments.maximum,
        mean=moments.mean,
        zeros=int(np.count_nonzero(flat == 0)) + numel - flat.size,
        nans=nans,
        infinities=flat.size - kept.size - nans,
        values=_values(given, flat) if detail and not is_large else None,
        block_map=_block_map(given, flat) if is_large else None,
        histogram=_histogram(kept, moments) if is_large else (),
    )


def array_of(tensor: torch.Tensor) -> Array:
    """All values as float64 (complex128 for complex ones), dense, C order."""
    dense = tensor.detach() if tensor.layout == torch.strided else tensor.detach().to_dense()
    wide = dense.to("cpu", torch.complex128 if dense.is_complex() else torch.float64).resolve_conj().resolve_neg()
    numpy = np.ascontiguousarray(wide.numpy())
    return Array(numpy.dtype.name, tuple(tensor.shape), numpy.tobytes())


def _values(tensor: torch.Tensor, flat: Reals) -> Array:
    """The same from what was read already, where that is all."""
    if tensor.is_complex() or tensor.layout != torch.strided:
        return array_of(tensor)
    return Array("float64", tuple(tensor.shape), flat.astype(np.float64).tobytes())


def _text(of: Any) -> str:
    """The name of a dtype, layout or device, each made once."""
    text = _texts.get(of)
    if text is None:
        text = _texts[of] = str(of).removeprefix("torch.")
    return text


def _stored(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout == torch.strided:
        return tensor
    if tensor.layout == torch.sparse_coo:
        return tensor.coalesce().values()
    return tensor.values()


def _reals(tensor: torch.Tensor) -> Reals:
    """Real floating values in the shape of the tensor: magnitudes of complex ones, wider ones of 8 and 16 bits."""
    real = tensor.abs() if tensor.is_complex() else tensor.resolve_neg()
    numpy: Reals = real.to("cpu", _FLOATS.get(real.dtype, torch.float64)).numpy()
    return numpy


def _moments(flat: Reals) -> Moments:
    """Without a look at whether all are finite: the norm is inf or nan where one is not."""
    if not flat.size:
        return Moments(math.nan, math.nan, math.nan, math.nan)
    low, high = float(flat.min()), float(flat.max())
    total = squares = 0.0
    for start in range(0, flat.size, _PART):
        part = flat[start : start + _PART].astype(np.float64)
        total += float(part.sum())
        squares += float(part.dot(part))
    largest = max(-low, high)
    if 0.0 < largest < math.inf and not _SQUARES_ROUND < squares < math.inf:
        scaled = flat.astype(np.float64) / largest
        return Moments(low, high, float(scaled.mean()) * largest, float(np.sqrt(scaled.dot(scaled))) * largest)
    return Moments(low, high, total / flat.size, math.sqrt(squares))


def _histogram(kept: Reals, moments: Moments) -> tuple[int, ...]:
    low, high = moments.minimum, moments.maximum
    if not kept.size or not low < high:
        return (kept.size,) if kept.size else ()
    counts = torch.zeros(HISTOGRAM_BINS + 1, dtype=torch.int64)
    for start in range(0, kept.size, _PART):
        places = _places(kept[start : start + _PART], low, high).astype(np.uint8)
        counts += torch.bincount(torch.from_numpy(places), minlength=HISTOGRAM_BINS + 1)
    counts[HISTOGRAM_BINS - 1] += counts[HISTOGRAM_BINS]  # the largest element itself
    return tuple(counts[:HISTOGRAM_BINS].tolist())


def _places(part: Reals, low: float, high: float) -> Reals:
    """Where elements lie between low and high, from 0 to HISTOGRAM_BINS."""
    if not _SPANS[0] < high - low < _SPANS[1]:
        part, low, high = part.astype(np.float64) / 4, low / 4, high / 4
    places = part - part.dtype.type(low)
    places /= places.dtype.type(high - low)
    places *= places.dtype.type(HISTOGRAM_BINS)
    return places


def _block_map(tensor: torch.Tensor, stored: Reals) -> Array:
    """Largest magnitude of every block of the tensor as a matrix: leading dimensions are rows, the last columns."""
    dense = stored if tensor.layout == torch.strided else _reals(tensor.to_dense()).reshape(-1)
    magnitudes = np.abs(dense).reshape(-1, max(1, tensor.shape[-1]))
    if magnitudes.shape[1] < MAP_SIDE < magnitudes.shape[0]:
        side = math.isqrt(magnitudes.size)
        magnitudes = np.pad(magnitudes.reshape(-1), (0, -magnitudes.size % side)).reshape(-1, side)
    blocks = _largest_of_blocks(np.ascontiguousarray(_largest_of_blocks(magnitudes).T)).T.astype(np.float64)
    blocks[~np.isfinite(blocks)] = math.nan
    numpy = np.ascontiguousarray(blocks)
    return Array("float64", numpy.shape, numpy.tobytes())


def _largest_of_blocks(matrix: Reals) -> Reals:
    """The rows in at most MAP_SIDE stretches of nearly equal length, each reduced to its maximum; NaN stays NaN."""
    bounds = [len(matrix) * i // MAP_SIDE for i in range(MAP_SIDE + 1)]
    if len(matrix) <= MAP_SIDE:
        return matrix
    if len(matrix) % MAP_SIDE == 0:
        found: Reals = matrix.reshape(MAP_SIDE, -1, matrix.shape[1]).max(axis=1)
        return found
    return np.stack([matrix[low:high].max(axis=0) for low, high in pairwise(bounds)])
