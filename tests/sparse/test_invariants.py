"""Broken invariants: PyTorch's complaint with the check, and what happens without it."""

from __future__ import annotations

from typing import get_args

import pytest

from engine import Fault, run
from engine.sparse.matrix import COMPRESSED, LAYOUTS, Matrix
from engine.sparse.spec import Corruption, InvariantsSpec, SparseSpec, UncheckedSpec

COMPLAINTS = {
    "index out of range": "`0 <= col_indices < ncols` is not satisfied.",
    "negative index": "`0 <= col_indices < ncols` is not satisfied.",
    "unsorted indices": "are sorted and distinct",
    "duplicate index": "are sorted and distinct",
    "first pointer not 0": "`crow_indices[..., 0] == 0` is not satisfied.",
    "last pointer not nnz": "`crow_indices[..., -1] == nnz` is not satisfied.",
    "pointers not monotonic": "`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied.",
    "one pointer missing": "crow_indices.shape[-1] must be equal to the number of rows + 1 (=9), but got 8",
    "one value missing": "col_indices.shape[-1] must be equal to nnz (=12) as defined by values.shape[0], but got 13",
    "one value too many dimensions": "tensor dimensionality must be sum of",
    "float indices": "must have the same dtype",
    "int32 mixed with int64": "must have the same dtype",
}


def violations(layout, **fields):
    found = run(InvariantsSpec(layout=layout, matrix=Matrix(**fields)), inline=True).violations
    return {violation.name: violation for violation in found}


def test_csr_complains_about_each_in_the_words_of_pytorch():
    found = violations("csr")
    assert found.keys() == set(get_args(Corruption))
    for name, words in COMPLAINTS.items():
        assert words in found[name].complaint.message
    assert found["called coalesced"].not_possible


@pytest.mark.parametrize("layout", COMPRESSED)
def test_every_compressed_layout_notices_each(layout):
    found = violations(layout)
    assert all(found[name].complaint is not None for name in COMPLAINTS)


def test_coo_minds_ranges_and_a_wrong_claim_but_neither_order_nor_duplicates():
    found = violations("coo")
    assert "found negative index -1" in found["negative index"].complaint.message
    assert "found index 8" in found["index out of range"].complaint.message
    assert "cannot set is_coalesced to true" in found["called coalesced"].complaint.message
    for name in ("unsorted indices", "duplicate index", "float indices"):
        assert found[name].complaint is None
    assert "no pointers" in found["first pointer not 0"].not_possible


@pytest.mark.parametrize("layout", LAYOUTS)
def test_just_the_marked_positions_were_edited(layout):
    for violation in violations(layout).values():
        if violation.not_possible or violation.before.dtype != violation.after.dtype:
            continue
        before = violation.before.numbers or violation.before.texts
        after = violation.after.numbers or violation.after.texts
        edited = {i for i, value in enumerate(after) if i >= len(before) or before[i] != value}
        assert set(violation.changed) == edited
        assert edited or len(after) != len(before) or violation.before.shape != violation.after.shape


@pytest.mark.parametrize("pattern", ["empty", "diagonal", "one full row"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_matrix_that_cannot_be_broken_in_a_way_says_why(pattern, layout):
    found = violations(layout, pattern=pattern)
    for violation in found.values():
        assert violation.not_possible or violation.after is not None
    if pattern == "empty":
        assert "needs at least 1 entries" in found["index out of range"].not_possible


def unchecked(corruption, layout="csr"):
    return run(UncheckedSpec(layout=layout, corruption=corruption), inline=True)


def test_a_duplicate_column_is_silently_another_matrix():
    found = unchecked("duplicate index")
    assert found.constructed
    assert found.is_silently_wrong
    assert found.dense.texts != found.expected.texts


def test_a_missing_value_is_noticed_only_when_read():
    found = unchecked("one value missing")
    assert found.constructed
    assert "must match the size" in found.reading_error.message


def test_what_is_not_possible_is_said_without_a_fault():
    assert "no pointers" in unchecked("first pointer not 0", "coo").not_possible


def ending(spec):
    """How the job of an unchecked tensor ended: "read", or the kind of its fault."""
    try:
        run(spec)
    except Fault as fault:
        return fault.report.kind
    return "read"


@pytest.mark.slow
def test_a_crash_of_the_unchecked_tensor_costs_only_its_own_job():
    assert ending(UncheckedSpec(corruption="pointers not monotonic")) in ("crash", "read")
    assert run(SparseSpec(matrix=Matrix(seed=77))).shape == (8, 12)
