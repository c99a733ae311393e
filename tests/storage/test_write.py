"""Writing through a view: which names change, what counts up, what autograd says; against plain PyTorch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.storage.apply import apply_step
from engine.storage.chain import parse_chain
from engine.storage.spec import LayoutSpec
from pages.tensors.storage_numbers import address_words
from pages.tensors.storage_write import overlap_words
from tests.storage.chains import build, chains


def write(chain="", operation="add_", step=0, **fields):
    spec = LayoutSpec(steps=parse_chain(chain), write=operation, write_step=step, **fields)
    return run(spec, inline=True).write


def versions(report):
    return [name.version_after for name in report.names]


def test_base_and_views_share_a_counter_and_a_copy_has_its_own():
    report = write("[1:].transpose(0, 1).clone()", step=1)
    assert [name.changed for name in report.names] == [True, True, True, False]
    assert versions(report) == [1, 1, 1, 0]
    assert report.error is report.backward_error is None


def test_a_write_that_a_view_does_not_see_counts_up_all_the_same():
    report = write("[:2].detach().select(0, 0)", step=3)
    assert [name.changed for name in report.names] == [True, True, True, True]
    apart = write("[2:][:0]", step=2)
    assert [name.changed for name in apart.names] == [False, False, False]
    assert versions(apart) == [1, 1, 1]


def test_the_history_of_base_and_views_is_rewritten():
    report = write(".clone().transpose(0, 1)[1:]", step=2, requires_grad=True)
    assert [name.grad_fn_before for name in report.names] == [
        None,
        "CloneBackward0",
        "TransposeBackward0",
        "SliceBackward0",
    ]
    assert [name.grad_fn_after for name in report.names][1:] == [
        "torch::autograd::CopySlices",
        "AsStridedBackward0",
        "AsStridedBackward0",
    ]
    assert report.backward_error is None


@pytest.mark.parametrize(
    ("chain", "step", "fields", "words"),
    [
        ("", 0, {"requires_grad": True}, "a leaf Variable that requires grad is being used in an in-place operation."),
        (
            "[1:]",
            1,
            {"requires_grad": True},
            "a view of a leaf Variable that requires grad is being used in an in-place",
        ),
        (
            ".expand(3, 4, 6)",
            1,
            {},
            "more than one element of the written-to tensor refers to a single memory location",
        ),
        (".clone().unbind()[1]", 2, {"requires_grad": True}, "Output 1 of Unbind is a view"),
        ("", 0, {"dtype": "bool"}, "result type Long can't be cast to the desired output type Bool"),
        ("", 0, {"dtype": "float8_e4m3fn"}, "not implemented for 'Float8_e4m3fn'"),
    ],
)
def test_what_pytorch_refuses_to_write_is_told_in_its_words_and_changes_nothing(chain, step, fields, words):
    report = write(chain, step=step, **fields)
    assert words in report.error.message
    assert not any(name.changed for name in report.names)


def test_writing_the_base_of_several_views_is_told_when_the_view_is_used():
    report = write(".clone().unbind()[0]", step=1, requires_grad=True)
    assert report.error is None
    assert "Output 0 of Unbind is a view and its base or another view of its base has been modified" in (
        report.backward_error.message
    )
    assert report.names[2].grad_fn_after is None


def test_an_overlap_without_a_stride_of_zero_is_written_and_counted():
    """PyTorch does not look for it: three windows of three over five places, the middle one in all of them."""
    report = write(".as_strided((3, 3), (1, 1))", step=1, shape=(5,), fill="zeros")
    assert (report.error, report.overlapping) == (None, 3)  # places 1, 2 and 3
    assert [name.changed for name in report.names] == [True, True]
    x = torch.zeros(5)
    x.as_strided((3, 3), (1, 1)).add_(1)
    assert x[2] > 1
    assert write(".expand(3, 4, 6)", step=1).overlapping == 24
    assert write(".as_strided((6, 3), (1, 1))", step=1, shape=(8,)).overlapping == 6


@pytest.mark.parametrize(
    ("size", "words", "readers"),
    [((6, 3), "6 cells are read by", 3), ((5, 3), "5 cells are read by", 3), ((2, 2), "1 cell is read by", 2)],
)
def test_the_page_says_how_many_places_more_than_one_index_reads(size, words, readers):
    """Windows of neighbours: all of the places from the first to the last but these two."""
    spec = LayoutSpec(shape=(8,), steps=parse_chain(f".as_strided({size}, (1, 1))"), write="mul_", write_step=1)
    result = run(spec, inline=True)
    assert words in overlap_words(result.write.overlapping)
    places = words.replace("cell", "place").removesuffix(" by")
    wanted = f"{places} by more than one index, the most-read one is read by {readers} indices"
    assert wanted in address_words(result.layouts[1])


def test_nan_is_no_change_and_conjugates_are_compared_as_values():
    assert [n.changed for n in write(".conj()", "zero_", shape=(1,), dtype="complex64").names] == [False, False]
    assert [n.changed for n in write(".conj()", "mul_", shape=(2,), dtype="complex64").names] == [True, True]


@pytest.mark.parametrize(("operation", "expected"), [("add_", [1, 2, 3]), ("mul_", [0, 2, 4]), ("zero_", [0, 0, 0])])
def test_the_chain_itself_is_traced_before_the_write(operation, expected):
    spec = LayoutSpec(shape=(3,), write=operation)
    result = run(spec, inline=True)
    assert result.storages[0].values == ("0", "1", "2")
    assert result.write.names[0].changed == (expected != [0, 1, 2])


@settings(max_examples=80, deadline=None)
@given(chains(), st.data())
def test_changed_names_are_those_whose_values_differ_afterwards(chain, data):
    """The second method: int32 storages written by hand, element by element compared."""
    shape, steps = chain
    step = data.draw(st.integers(0, len(steps)))
    report = run(LayoutSpec(shape=shape, steps=steps, dtype="int32", write="add_", write_step=step), inline=True).write
    tensors = [build(shape, ())]
    for one in steps:
        tensors.append(apply_step(tensors[-1], one))
    before = [tensor.tolist() for tensor in tensors]
    error = None
    try:
        tensors[step].add_(1)
    except RuntimeError as raised:
        error = str(raised)
    assert (report.error.message if report.error else None) == error
    assert [name.changed for name in report.names] == [t.tolist() != b for t, b in zip(tensors, before, strict=True)]
    assert versions(report) == [tensor._version for tensor in tensors]
