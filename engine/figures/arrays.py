"""Arrays of a result as numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runner.contract import Array
from engine.summary import TensorSummary


def array(stored: Array) -> NDArray[Any]:
    """The values as a read-only numpy array of their shape."""
    return np.frombuffer(stored.data, np.dtype(stored.dtype).newbyteorder("<")).reshape(stored.shape)


def as_matrix(values: NDArray[Any]) -> NDArray[Any]:
    """Leading dimensions as rows and the last as columns; a vector is one row, a scalar one cell."""
    if values.ndim == 2:
        return values
    columns = values.shape[-1] if values.ndim else 1
    return values.reshape(values.size // columns if columns else 0, columns)


def summary_map(summary: TensorSummary) -> NDArray[Any]:
    """What to draw of a tensor as a matrix: its values where they travelled, else the largest magnitudes of blocks.

    No rows or no columns where the tensor has no elements or came without detail.
    """
    stored = summary.values if summary.values is not None else summary.block_map
    return as_matrix(array(stored)) if stored is not None else np.empty((0, 0))


def is_signed(summary: TensorSummary) -> bool:
    """Whether `summary_map` holds signed values, not magnitudes."""
    return summary.values is not None and not summary.values.dtype.startswith("complex")
