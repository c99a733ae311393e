"""The arrays of every layout, against hand-made ones and PyTorch's own dense matrix."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.sparse.entries import Entry
from engine.sparse.matrix import LAYOUTS, Dtype, Matrix, Pattern
from engine.sparse.spec import SparseSpec

TYPED = "typed entries"
UNSUPPORTED = ("uint16", "float8_e4m3fn")


def trace(**fields):
    return run(SparseSpec(matrix=Matrix(**fields)), inline=True)


def arrays(layout):
    return [list(member.numbers) or list(map(float, member.texts)) for member in layout.members]


def compress(dense, by_row):
    """(pointers, indices, values) of a dense matrix by two plain loops."""
    lines = dense if by_row else [list(column) for column in zip(*dense, strict=True)]
    pointers, indices, values = [0], [], []
    for line in lines:
        for index, value in enumerate(line):
            if value:
                indices.append(index)
                values.append(value)
        pointers.append(len(indices))
    return [pointers, indices, values]


def test_a_small_matrix_in_every_layout_by_hand():
    # 1 . 2 .
    # . . . 3
    entries = (Entry(0, 0, 1.0), Entry(0, 2, 2.0), Entry(1, 3, 3.0))
    found = trace(pattern=TYPED, rows=2, columns=4, entries=entries, block_rows=1, block_columns=2)
    assert arrays(found.layout("coo")) == [[0, 0, 1, 0, 2, 3], [1, 2, 3]]
    assert arrays(found.layout("csr")) == [[0, 2, 3], [0, 2, 3], [1, 2, 3]]
    assert arrays(found.layout("csc")) == [[0, 1, 1, 2, 3], [0, 0, 1], [1, 2, 3]]
    assert arrays(found.layout("bsr")) == [[0, 2, 3], [0, 1, 1], [1, 0, 2, 0, 0, 3]]
    assert arrays(found.layout("bsc")) == [[0, 1, 3], [0, 0, 1], [1, 0, 2, 0, 0, 3]]
    assert [found.layout(name).bytes for name in LAYOUTS] == [3 * 20, 3 * 8 + 3 * 12, 5 * 8 + 3 * 12, 72, 72]
    assert found.dense.bytes == 2 * 4 * 4


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.floats(0, 1), st.integers(0, 99), st.sampled_from(["int64", "int32"]))
def test_compressed_arrays_are_what_two_loops_over_the_dense_matrix_give(rows, columns, density, seed, index_dtype):
    found = trace(rows=rows, columns=columns, density=density, seed=seed, index_dtype=index_dtype)
    texts = list(map(float, found.dense.texts))
    dense = [texts[row * columns : (row + 1) * columns] for row in range(rows)]
    assert arrays(found.layout("csr")) == compress(dense, by_row=True)
    assert arrays(found.layout("csc")) == compress(dense, by_row=False)
    assert {member.dtype for member in found.layout("csr").members[:2]} == {index_dtype}
    assert found.layout("coo").member("indices").dtype == "int64"
    width = 8 if index_dtype == "int64" else 4
    assert found.layout("csr").bytes == (rows + 1) * width + found.nonzeros * (width + 4)


@pytest.mark.parametrize("pattern", get_args(Pattern))
def test_every_pattern_is_the_same_matrix_in_every_layout(pattern):
    check_every_layout(pattern, "float32")


@pytest.mark.parametrize("dtype", get_args(Dtype))
def test_every_dtype_is_the_same_matrix_in_every_layout_or_pytorch_says_why_not(dtype):
    check_every_layout("duplicates", dtype)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", get_args(Pattern))
@pytest.mark.parametrize("dtype", get_args(Dtype))
def test_every_pattern_in_every_dtype(pattern, dtype):
    check_every_layout(pattern, dtype)


def check_every_layout(pattern, dtype):
    found = trace(pattern=pattern, dtype=dtype, rows=12, columns=12)
    for layout in found.layouts:
        if layout.error is not None:
            assert dtype in (*UNSUPPORTED, "complex32")
            assert "not implemented for" in layout.error.message
        elif dtype not in (*UNSUPPORTED, "complex32"):
            assert layout.equals_dense is True
            assert layout.held_bytes >= layout.bytes


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 5), (5, 0), (1, 1), (64, 64)])
def test_empty_and_largest_matrices_are_read(rows, columns):
    found = trace(rows=rows, columns=columns, block_rows=1, block_columns=1)
    assert len(found.dense.texts) == rows * columns
    assert all(layout.error is None for layout in found.layouts)


def test_a_blocksize_that_does_not_divide_is_refused_in_pytorchs_words():
    found = trace(rows=7, columns=12, block_rows=2, block_columns=3)
    for name in ("bsr", "bsc"):
        assert "must be divisible by given blocksize (2,3)" in found.layout(name).error.message
    assert found.layout("csr").equals_dense


def test_a_stored_zero_stays_stored_where_the_format_is_built_from_coo():
    found = trace(pattern=TYPED, rows=2, columns=3, entries=(Entry(0, 0, 0.0), Entry(1, 2, 5.0)))
    assert found.nonzeros == 1
    assert [found.layout(name).nnz for name in ("coo", "csr", "csc")] == [2, 2, 2]


def test_nbytes_of_a_compressed_tensor_is_that_of_the_dense_one_and_coo_refuses():
    found = trace()
    said = {name: next(f for f in found.layout(name).facts if f.expression == "nbytes") for name in LAYOUTS}
    assert {said[name].answer for name in LAYOUTS[1:]} == {str(found.dense.bytes)}
    assert "nbytes is not defined for sparse tensors" in said["coo"].error.message


def test_csr_from_coo_keeps_both_rows_of_the_coo_indices_alive():
    member = trace().layout("csr").member("col_indices")
    assert (member.bytes, member.storage_bytes) == (13 * 8, 2 * 13 * 8)
    coo = torch.zeros(3, 4).index_put((torch.tensor([1]), torch.tensor([2])), torch.tensor(7.0)).to_sparse()
    columns = coo.to_sparse_csr().col_indices()
    assert columns.untyped_storage().data_ptr() == coo.indices().untyped_storage().data_ptr()


def test_reading_warns_in_the_same_way_every_time():
    first, second = (trace().layout("csr").warnings for _ in range(2))
    assert first == second
    assert any("beta state" in warning for warning in first)
