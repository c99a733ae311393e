"""The matrix of the sparse page as plain torch."""

from __future__ import annotations

from engine.sparse.matrix import LayoutName, Matrix

ARRAYS = '''\

def arrays_of(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The arrays a sparse tensor consists of, coalesced or not."""
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
'''

INT32 = '''\
def int32(tensor: torch.Tensor) -> torch.Tensor:
    """The same compressed tensor with 32-bit indices."""
    pointers, plain, values = arrays_of(tensor)
    return torch.sparse_compressed_tensor(pointers.int(), plain.int(), values, tensor.shape, layout=tensor.layout)

'''

_BAND = "(torch.arange({rows})[:, None] - torch.arange({columns})).abs() <= {width}"
_RANDOM = "torch.rand({rows}, {columns}, generator=generator) < {density}"
_MASKS = {
    "random": _RANDOM,
    "duplicates": _RANDOM,
    "diagonal": _BAND.replace("{width}", "0"),
    "banded": _BAND.replace("{width}", "{band}"),
    "one full row": "(torch.arange({rows}) == {rows} // 2)[:, None].expand({rows}, {columns})",
    "empty": "torch.zeros({rows}, {columns}, dtype=torch.bool)",
}


def dtype_of(dtype: str) -> str:
    """ "float32" -> "torch.float32"."""
    return f"torch.{dtype}"


def build_lines(matrix: Matrix) -> list[str]:
    """Lines that end with the matrix as `coo`, its indices and values drawn or typed as the page does."""
    size = f"({matrix.rows}, {matrix.columns})"
    if matrix.pattern == "typed entries":
        rows = [entry.row for entry in matrix.entries]
        columns = [entry.column for entry in matrix.entries]
        values = [entry.value for entry in matrix.entries]
        lines = [
            f"indices = torch.tensor([{rows}, {columns}], dtype=torch.int64)",
            f"values = torch.tensor({values}, dtype=torch.float64)",
        ]
    else:
        lines = [
            f"generator = torch.Generator().manual_seed({matrix.seed})",
            *_mask_lines(matrix),
            "indices = mask.nonzero().T",
            *(["indices = torch.cat([indices, indices[:, ::2]], dim=1)"] if matrix.pattern == "duplicates" else []),
            "values = torch.randint(1, 10, (indices.shape[1],), generator=generator)",
        ]
    make = f"coo = torch.sparse_coo_tensor(indices, values.to({dtype_of(matrix.dtype)}), {size}, check_invariants=True)"
    return [*lines, make]


def _mask_lines(matrix: Matrix) -> list[str]:
    rows, columns = matrix.rows, matrix.columns
    if matrix.pattern == "blocks":
        height, width = matrix.block_rows, matrix.block_columns
        down, across = -(-rows // height), -(-columns // width)
        return [
            f"chosen = torch.rand({down}, {across}, generator=generator) < {matrix.density}",
            f"mask = chosen.repeat_interleave({height}, 0).repeat_interleave({width}, 1)[:{rows}, :{columns}]",
        ]
    if matrix.pattern == "power-law rows":
        return [
            f"weights = 1 / torch.arange(1, {rows} + 1)[:, None]",
            f"share = weights * ({matrix.density} * {rows} / weights.sum())",
            f"mask = torch.rand({rows}, {columns}, generator=generator) < share",
        ]
    fields = {"rows": rows, "columns": columns, "density": matrix.density, "band": matrix.band}
    return ["mask = " + _MASKS[matrix.pattern].format(**fields)]


def conversion(matrix: Matrix, layout: LayoutName) -> str:
    """The expression that carries `coo` into a layout, with 32-bit indices where asked."""
    if layout == "coo":
        return "coo"
    blocks = f"({matrix.block_rows}, {matrix.block_columns})" if layout in ("bsr", "bsc") else ""
    converted = f"coo.to_sparse_{layout}({blocks})"
    return f"int32({converted})" if matrix.index_dtype == "int32" else converted
