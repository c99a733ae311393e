"""The numbers of a tensor's values against numpy and plain loops, over dtypes, layouts and what is not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine.summarise import array_of, summarise
from engine.summary import FEW_ELEMENTS, HISTOGRAM_BINS, MAP_SIDE

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (5, 7), (40, 50), (3, 4, 5, 60)], ids=str)
def test_numbers_are_numpys(dtype, shape):
    tensor = (torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 3).to(dtype)
    found, plain = summarise(tensor), tensor.to(torch.complex128).abs() if dtype.is_complex else tensor.double()
    flat = plain.numpy().ravel()
    assert (found.shape, found.numel, found.zeros, found.non_finite) == (shape, flat.size, int((flat == 0).sum()), 0)
    if not flat.size:
        assert (found.norm, math.isnan(found.mean), math.isnan(found.minimum)) == (0.0, True, True)
        return
    assert found.norm == pytest.approx(np.linalg.norm(flat), rel=1e-6)
    assert found.mean == pytest.approx(flat.mean(), rel=1e-6, abs=1e-7)
    assert (found.minimum, found.maximum) == pytest.approx((flat.min(), flat.max()), rel=1e-6)


def test_what_is_not_finite_is_counted_and_left_out_of_the_rest():
    found = summarise(torch.tensor([3.0, math.nan, -4.0, math.inf, 0.0, -math.inf]))
    assert (found.nans, found.infinities, found.zeros, found.norm, found.mean) == (1, 2, 1, 5.0, pytest.approx(-1 / 3))
    assert math.isnan(summarise(torch.tensor([math.nan])).norm)


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_bsr"])
def test_a_sparse_tensor_counts_what_is_not_stored_as_zero(layout):
    dense = torch.tensor([[0.0, 3.0], [4.0, 0.0]])
    sparse = dense.to_sparse_bsr((1, 1)) if layout == "to_sparse_bsr" else getattr(dense, layout)()
    found = summarise(sparse)
    assert (found.numel, found.zeros, found.norm) == (4, 2, 5.0)
    assert np.frombuffer(found.values.data).tolist() == [0.0, 3.0, 4.0, 0.0]


def test_duplicate_coordinates_are_added_first():
    twice = torch.sparse_coo_tensor([[0, 0]], [1.0, -1.0], (3,))
    assert (summarise(twice).zeros, summarise(twice).norm) == (3, 0.0)


@pytest.mark.parametrize("shape", [(FEW_ELEMENTS + 1,), (64, 64), (2000, 3), (3, 2000), (5, 6, 7, 8), (1, 4096)])
def test_of_many_elements_a_histogram_and_the_largest_of_blocks(shape):
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    found = summarise(tensor)
    assert found.values is None
    assert sum(found.histogram) == tensor.numel()
    assert len(found.histogram) == HISTOGRAM_BINS
    blocks = np.frombuffer(found.block_map.data).reshape(found.block_map.shape)
    assert max(blocks.shape) <= MAP_SIDE
    assert blocks.max() == tensor.abs().max().item()


def test_a_block_with_something_not_finite_says_so():
    tensor = torch.ones(64, 64)
    tensor[0, 63] = math.inf
    blocks = np.frombuffer(summarise(tensor).block_map.data).reshape(32, 32)
    assert np.argwhere(np.isnan(blocks)).tolist() == [[0, 31]]


def test_conjugated_and_strided_values_are_read_as_they_are():
    tensor = torch.tensor([[1 + 2j, 3 - 1j]]).conj().T
    assert np.frombuffer(array_of(tensor).data, "complex128").tolist() == [1 - 2j, 3 + 1j]
