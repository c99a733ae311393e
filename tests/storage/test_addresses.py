"""The addresses computed are those of the real tensor: by data_ptr of single elements, and by writing them."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
import torch
from hypothesis import given, settings

from engine.storage.addresses import MOST_LISTED, addresses, cache_lines, overlapping_places, read_addresses
from tests.storage.chains import build, chains


def flat_storage(tensor):
    whole = torch.empty(0, dtype=tensor.dtype)
    return whole.set_(tensor.untyped_storage(), 0, (tensor.untyped_storage().nbytes() // tensor.itemsize,), (1,))


def indices(tensor):
    return list(itertools.product(*map(range, tensor.shape)))


def computed(tensor):
    return addresses(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


@settings(max_examples=100, deadline=None)
@given(chains())
def test_an_address_is_where_the_element_lies(chain):
    tensor = build(*chain)
    start = tensor.untyped_storage().data_ptr()
    real = [(tensor[index].data_ptr() - start) // tensor.itemsize for index in indices(tensor)]
    assert computed(tensor) == real


@settings(max_examples=100, deadline=None)
@given(chains())
def test_writing_an_element_changes_its_address_and_no_other(chain):
    tensor = build(*chain)
    storage = flat_storage(tensor)
    for index, address in list(zip(indices(tensor), computed(tensor), strict=True))[:40]:
        storage.zero_()
        tensor[index] = 7
        assert storage.nonzero().flatten().tolist() == [address]


@settings(max_examples=100, deadline=None)
@given(chains())
def test_facts_are_what_listing_gives(chain):
    tensor = build(*chain)
    listed = computed(tensor)
    for itemsize in (1, 4, 16):
        facts = read_addresses(tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), itemsize)
        per_line = 64 // itemsize
        assert facts.numel == len(listed)
        assert facts.distinct == len(set(listed))
        assert facts.most_readers == max(Counter(listed).values(), default=0)
        assert facts.lines == len({address // per_line for address in listed})
        assert (facts.first, facts.last) == ((min(listed), max(listed)) if listed else (None, None))
        assert facts.gaps == (max(listed) - min(listed) + 1 - len(set(listed)) if listed else 0)
        assert facts.overlapping == sum(readers > 1 for readers in Counter(listed).values())


@settings(max_examples=100, deadline=None)
@given(chains())
def test_lines_per_row_are_what_listing_gives(chain):
    tensor = build(*chain)
    facts = read_addresses(tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), 4)
    length = tensor.size(-1) if tensor.dim() else 1
    listed = [address // 16 for address in computed(tensor)]
    rows = [len(set(listed[i : i + length])) for i in range(0, len(listed), length or 1)]
    assert facts.rows == facts.rows_looked_at == len(rows)
    assert (facts.fewest_lines_per_row, facts.most_lines_per_row) == (min(rows, default=0), max(rows, default=0))


def test_every_second_column_of_a_matrix_by_hand():
    """4 x 16 floats, one row a cache line; x[:, ::2] reads 8 of 16 places of each."""
    facts = read_addresses((4, 8), (16, 2), 0, 4)
    assert (facts.span, facts.distinct, facts.gaps, facts.overlapping) == (63, 32, 31, 0)
    assert (facts.lines, facts.fewest_lines_per_row) == (4, 1)
    assert read_addresses((8, 4), (2, 16), 0, 4).most_lines_per_row == 4


def test_expanded_and_windowed_tensors_read_places_more_than_once():
    assert read_addresses((1000, 4), (0, 1), 0, 4).most_readers == 1000
    windows = read_addresses((6, 3), (1, 1), 0, 4)
    assert (windows.distinct, windows.most_readers, windows.overlapping) == (8, 3, 6)  # 1 to 6 of 0 to 7


@pytest.mark.parametrize(
    ("shape", "stride", "places"),
    [
        ((), (), 0),
        ((0, 3), (0, 0), 0),
        ((1, 4), (0, 1), 0),
        ((3, 4), (0, 1), 4),
        ((3, 3), (1, 1), 3),
        ((2, 3), (1, 1), 2),
        ((5, 3), (2, 1), 4),
        ((2, 2), (3, 3), 1),
        ((7, 5), (3, 4), 6),
    ],
)
def test_places_read_by_more_than_one_index_by_hand_and_by_adding_one_through_each(shape, stride, places):
    counted = torch.zeros(64, dtype=torch.int64)
    where = torch.arange(64).as_strided(shape, stride).flatten()
    counted.index_add_(0, where, torch.ones_like(where))
    assert overlapping_places(shape, stride) == int((counted > 1).sum()) == places


def test_large_tensors_are_counted_without_listing_them():
    transposed = read_addresses((8192, 8192), (1, 8192), 0, 4)
    assert (transposed.lines, transposed.most_lines_per_row, transposed.distinct) == (2**22, 8192, 2**26)
    assert transposed.rows_looked_at < transposed.rows
    overlapping = read_addresses((4096, 4096, 4), (3, 8192, 2), 0, 4)
    by_torch = torch.zeros(overlapping.span, dtype=torch.bool)
    by_torch.as_strided((4096, 4096, 4), (3, 8192, 2)).fill_(True)
    assert overlapping.distinct == int(by_torch.sum())
    assert overlapping.lines == int(
        torch.nn.functional.pad(by_torch, (0, -overlapping.span % 16)).view(-1, 16).any(1).sum()
    )


def test_overlaps_of_large_tensors_are_those_that_pytorch_counts():
    for shape, stride in (((1024, 1024, 4), (3, 2048, 2)), ((999, 1001), (700, 1)), ((257, 3, 255), (5, 1000, 2))):
        span = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
        places = torch.arange(span).as_strided(shape, stride).flatten()
        assert overlapping_places(shape, stride) == int((torch.bincount(places) > 1).sum()) > 0


def test_what_would_take_too_long_is_none_or_refused():
    assert cache_lines((2, 2**20, 3), (2**40, 7, 5), 0, 4) is None
    assert overlapping_places((2, 2**20, 3), (2**40, 7, 5)) is None
    with pytest.raises(ValueError, match=rf"up to {MOST_LISTED} elements; received shape \(1025, 1024\)"):
        addresses((1025, 1024), (1024, 1), 0)
