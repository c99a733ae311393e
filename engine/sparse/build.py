"""Building the matrix and carrying it from layout to layout, by PyTorch's own conversions."""

from __future__ import annotations

from collections.abc import Callable

import torch

from engine.recorded import read_coo
from engine.sparse.matrix import IndexDtype, LayoutName, Matrix

TORCH_LAYOUTS: dict[LayoutName, torch.layout] = {
    "coo": torch.sparse_coo,
    "csr": torch.sparse_csr,
    "csc": torch.sparse_csc,
    "bsr": torch.sparse_bsr,
    "bsc": torch.sparse_bsc,
}
MEMBERS: dict[LayoutName, tuple[str, ...]] = {
    "coo": ("indices", "values"),
    "csr": ("crow_indices", "col_indices", "values"),
    "csc": ("ccol_indices", "row_indices", "values"),
    "bsr": ("crow_indices", "col_indices", "values"),
    "bsc": ("ccol_indices", "row_indices", "values"),
}
"""Methods that return the arrays: pointers, plain indices, values."""


def build_coo(matrix: Matrix) -> torch.Tensor:
    """The matrix as a COO tensor, not coalesced where the pattern has duplicates."""
    indices, values = entries_of(matrix)
    size = (matrix.rows, matrix.columns)
    dtype: torch.dtype = getattr(torch, matrix.dtype)
    return torch.sparse_coo_tensor(indices, values.to(dtype), size, check_invariants=True)


def entries_of(matrix: Matrix) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices of shape (2, nnz) and values in double precision, in the order of construction."""
    if matrix.pattern == "typed entries":
        places = [[entry.row for entry in matrix.entries], [entry.column for entry in matrix.entries]]
        values = torch.tensor([entry.value for entry in matrix.entries], dtype=torch.float64)
        return torch.tensor(places, dtype=torch.int64).reshape(2, -1), values
    generator = torch.Generator().manual_seed(matrix.seed)
    indices = _MASKS[matrix.pattern](matrix, generator).nonzero().T
    if matrix.pattern == "duplicates":
        indices = torch.cat([indices, indices[:, ::2]], dim=1)
    values = torch.randint(1, 10, (indices.shape[1],), generator=generator)
    return indices.contiguous(), values.to(torch.float64)


def _random(matrix: Matrix, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(matrix.rows, matrix.columns, generator=generator) < matrix.density


def _band(matrix: Matrix, width: int) -> torch.Tensor:
    rows, columns = torch.arange(matrix.rows)[:, None], torch.arange(matrix.columns)
    return (rows - columns).abs() <= width


def _blocks(matrix: Matrix, generator: torch.Generator) -> torch.Tensor:
    height, width = matrix.block_rows, matrix.block_columns
    chosen = torch.rand(-(-matrix.rows // height), -(-matrix.columns // width), generator=generator) < matrix.density
    grown = chosen.repeat_interleave(height, 0).repeat_interleave(width, 1)
    return grown[: matrix.rows, : matrix.columns]


def _power_law(matrix: Matrix, generator: torch.Generator) -> torch.Tensor:
    weights = 1 / torch.arange(1, matrix.rows + 1)[:, None]
    share = weights * (matrix.density * matrix.rows / weights.sum())
    return torch.rand(matrix.rows, matrix.columns, generator=generator) < share


def _one_row(matrix: Matrix, generator: torch.Generator) -> torch.Tensor:
    return (torch.arange(matrix.rows) == matrix.rows // 2)[:, None].expand(matrix.rows, matrix.columns)


_MASKS: dict[str, Callable[[Matrix, torch.Generator], torch.Tensor]] = {
    "random": _random,
    "duplicates": _random,
    "diagonal": lambda matrix, generator: _band(matrix, 0),
    "banded": lambda matrix, generator: _band(matrix, matrix.band),
    "blocks": _blocks,
    "power-law rows": _power_law,
    "one full row": _one_row,
    "empty": lambda matrix, generator: torch.zeros(matrix.rows, matrix.columns, dtype=torch.bool),
}


def build_dense(matrix: Matrix) -> torch.Tensor:
    """The dense matrix of the same entries, added up without any sparse tensor."""
    (rows, columns), values = entries_of(matrix)
    dtype: torch.dtype = getattr(torch, matrix.dtype)
    exact = values.dtype if dtype.is_floating_point or dtype.is_complex else torch.int64
    dense = torch.zeros(matrix.rows, matrix.columns, dtype=exact)
    return dense.index_put_((rows, columns), values.to(exact), accumulate=True).to(dtype)


def to_layout(
    tensor: torch.Tensor, layout: LayoutName, blocksize: tuple[int, int], index_dtype: IndexDtype = "int64"
) -> torch.Tensor:
    """The tensor in `layout`; raises what PyTorch raises where it refuses."""
    if layout == "coo":
        return tensor if tensor.layout is torch.sparse_coo else tensor.to_sparse()
    if layout in ("bsr", "bsc"):
        converted = getattr(tensor, f"to_sparse_{layout}")(blocksize)
    else:
        converted = getattr(tensor, f"to_sparse_{layout}")()
    return converted if index_dtype == "int64" else _with_int32(converted, layout)


def _with_int32(tensor: torch.Tensor, layout: LayoutName) -> torch.Tensor:
    compressed, plain, values = arrays_of(tensor, layout)
    return torch.sparse_compressed_tensor(
        compressed.int(), plain.int(), values, tensor.shape, layout=TORCH_LAYOUTS[layout], check_invariants=True
    )


def arrays_of(tensor: torch.Tensor, layout: LayoutName) -> tuple[torch.Tensor, ...]:
    """The arrays in the order of `MEMBERS`; of a COO tensor as they are, coalesced or not."""
    if layout == "coo":
        indices, values, _ = read_coo(tensor)
        return indices(), values()
    return tuple(getattr(tensor, name)() for name in MEMBERS[layout])


def count_entries(tensor: torch.Tensor) -> int:
    """nnz: stored entries, or blocks in a block layout."""
    return int(read_coo(tensor)[2]())
