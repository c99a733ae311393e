"""Bytes against density: real arrays, the crossover, and the formula as the second way."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.sparse.spec import WeightsSpec, density_ladder


def weigh(**fields):
    weights = run(WeightsSpec(**fields), inline=True)
    return weights, {curve.layout: curve for curve in weights.curves}


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        # 12 bytes an entry and 65 pointers of 8, below 64 * 64 * 4
        ({}, {"coo": (16384 - 1) // 20, "csr": (16384 - 65 * 8 - 1) // 12}),
        ({"index_dtype": "int32"}, {"coo": 819, "csr": (16384 - 65 * 4 - 1) // 8}),
        ({"dtype": "float64"}, {"coo": (32768 - 1) // 24, "csr": (32768 - 65 * 8 - 1) // 16}),
        ({"dtype": "bool"}, {"coo": (4096 - 1) // 17, "csr": (4096 - 65 * 8 - 1) // 9}),
    ],
)
def test_the_crossover_by_hand(fields, most):
    _, curves = weigh(rows=64, columns=64, **fields)
    assert {layout: curves[layout].most_nnz for layout in most} == most


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.sampled_from(["float32", "float64", "float16", "complex64", "int8", "bool"]),
    st.sampled_from(["int64", "int32"]),
)
def test_bisection_over_real_tensors_and_the_formula_agree(rows, columns, dtype, index_dtype):
    weights, curves = weigh(rows=rows, columns=columns, dtype=dtype, index_dtype=index_dtype, block=1)
    for layout in ("coo", "csr", "csc"):
        assert curves[layout].most_nnz == min(curves[layout].formula_nnz, weights.cells)
    assert weights.dense_bytes == torch.empty(rows, columns, dtype=getattr(torch, dtype)).nbytes


def test_points_grow_and_their_members_add_up():
    weights, curves = weigh(rows=32, columns=48)
    for curve in curves.values():
        sizes = [point.bytes for point in curve.points]
        assert sizes == sorted(sizes)
        assert all(point.bytes == sum(size for _, size in point.members) for point in curve.points)
        assert [point.nnz for point in curve.points] == [0, *density_ladder(32 * 48)]
    assert curves["coo"].points[-1].bytes == 32 * 48 * 20
    assert weights.cells == 32 * 48


def test_blocks_pay_when_entries_come_in_blocks():
    scattered, clustered = (weigh(rows=64, columns=64, clustered=c)[1]["bsr"].most_nnz for c in (False, True))
    assert clustered > 4 * scattered


def test_blocks_that_do_not_divide_are_refused_and_the_others_weighed():
    _, curves = weigh(rows=7, columns=5, block=2)
    assert "must be divisible by given blocksize (2,2)" in curves["bsr"].error.message
    assert curves["csr"].error is None


def test_the_ladder_runs_from_one_entry_to_every_cell():
    for cells in (1, 2, 10, 65536):
        ladder = density_ladder(cells)
        assert (ladder[0], ladder[-1]) == (1, cells)
        assert list(ladder) == sorted(set(ladder))
