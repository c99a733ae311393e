"""coalesce() and what is wrong before it: pytorch/pytorch#9998."""

from __future__ import annotations

from engine import run
from engine.sparse.entries import Entry
from engine.sparse.matrix import TWO_IN_ONE_PLACE, Matrix
from engine.sparse.spec import SparseSpec


def trace(entries=TWO_IN_ONE_PLACE, **fields):
    matrix = Matrix(pattern="typed entries", rows=2, columns=3, entries=entries, **fields)
    return run(SparseSpec(matrix=matrix), inline=True)


def test_the_public_case_of_two_entries_in_one_place():
    found = trace()
    coalesce, coo = found.coalesce, found.layout("coo")
    assert (coo.nnz, coalesce.after.nnz) == (3, 2)
    assert (coalesce.before.is_coalesced, coalesce.after.is_coalesced) == (False, True)
    assert found.dense.texts == ("0", "0", "7", "5", "0", "0")
    assert coo.member("values").texts == ("3", "4", "5")
    assert coalesce.after.member("values").texts == ("7", "5")
    assert "Cannot get values on an uncoalesced tensor" in coalesce.values_error.message
    assert coalesce.square == ("49", "25")
    assert coalesce.square_of_values == ("9", "16", "25")
    assert coalesce.sum_nnz == 3
    assert coalesce.summed == ((0, 1), (2,))


def test_the_public_case_asked_like_a_dense_tensor():
    facts = {fact.expression: fact for fact in trace().layout("coo").facts}
    assert facts["stride()"].answer == "(0, 0)"
    assert facts["is_contiguous()"].answer == "False"
    assert facts["is_leaf"].answer == "True"
    storage = facts["untyped_storage().nbytes()"].error
    assert (storage.type, storage.message) == ("NotImplementedError", "Cannot access storage of SparseTensorImpl")


def test_compressed_layouts_add_up_what_shares_a_place():
    assert trace().layout("csr").member("values").texts == ("7", "5")


def test_every_raw_entry_is_summed_into_one_place_and_the_sums_are_the_dense_values():
    found = run(SparseSpec(matrix=Matrix(pattern="duplicates", density=0.4)), inline=True)
    coalesce = found.coalesce
    raw = list(map(float, coalesce.before.member("values").texts))
    assert sorted(k for group in coalesce.summed for k in group) == list(range(len(raw)))
    assert any(len(group) > 1 for group in coalesce.summed)
    indices = coalesce.after.member("indices").numbers
    places = zip(indices[: len(indices) // 2], indices[len(indices) // 2 :], strict=True)
    for (row, column), group in zip(places, coalesce.summed, strict=True):
        assert sum(raw[k] for k in group) == float(found.dense.texts[row * found.shape[1] + column])


def test_a_dtype_without_the_operation_gives_pytorchs_words_for_that_one_only():
    coalesce = trace(dtype="float16").coalesce
    assert "not implemented for 'Half'" in coalesce.sum_error.message
    assert coalesce.sum_nnz is None
    assert coalesce.square == ("49", "25")


def test_a_dtype_that_cannot_be_coalesced_keeps_its_raw_entries():
    coalesce = trace(dtype="uint16", entries=(Entry(0, 0, 1.0), Entry(0, 0, 2.0))).coalesce
    assert "coalesce" in coalesce.after.error.message
    assert coalesce.before.member("values").texts == ("1", "2")
    assert coalesce.summed == ()
