"""The text of a chain: what is read, that it comes back, what is refused in words, and that nothing is evaluated."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.storage.apply import apply_step
from engine.storage.chain import ChainError, format_chain, parse_chain
from engine.storage.operations import Step
from tests.storage.chains import any_steps


@settings(max_examples=150, deadline=None)
@given(st.lists(any_steps(), max_size=8).map(tuple))
def test_a_chain_written_out_is_read_back(chain):
    text = format_chain(chain)
    assert parse_chain(text) == chain
    assert parse_chain(f"x{text}") == chain
    assert format_chain(parse_chain(text)) == text


WRITTEN = [
    ".transpose(0, 1)[1:, ::2].reshape(5, -1)",
    ".transpose(dim0=0, dim1=-1)",
    ".permute(1, 0)",
    ".permute((1, 0))",
    ".permute(dims=(1, 0))",
    ".T.mT",
    "[0, 1:]",
    "[..., 0]",
    "[..., None, 1:]",
    "[None, :, 0, None]",
    "[0, ..., 1:, None]",
    "[:]",
    "[:, :]",
    "[..., :]",
    "[-1][-2:]",
    ".reshape(2, 12)",
    ".reshape((2, 12))",
    ".view(24).view(-1, 3)",
    ".view(torch.int32)",
    ".view(dtype=torch.float16)",
    ".flatten().unflatten(0, (2, -1))",
    ".flatten(start_dim=0)",
    ".unflatten(dim=0, sizes=(2, 2))",
    ".unfold(0, 2, step=1)",
    ".narrow(dim=1, start=0, length=2)",
    ".unsqueeze(0).squeeze()",
    ".unsqueeze(dim=0).squeeze(dim=0).squeeze(0)",
    ".movedim(0, 1).movedim((0, 1), (1, 0)).moveaxis(0, -1)",
    ".swapaxes(0, 1).swapdims(0, 1).t()",
    ".diagonal().unsqueeze(0).diagonal(offset=0, dim1=-1, dim2=0)",
    ".as_strided((2, 3), (3, 1)).as_strided(size=(2,), stride=(1,), storage_offset=1)",
    ".flip(0).flip((0, 1)).flip(dims=(1,))",
    ".roll(1).roll(1, 0).roll((1, 2), (0, 1)).roll(shifts=1, dims=0)",
    ".contiguous().clone().detach().clone(memory_format=torch.contiguous_format)",
    ".to(torch.half).to(dtype=torch.double).float().bfloat16().long().bool()",
    ".reshape(1, 2, 3, 4).to(memory_format=torch.channels_last).contiguous(memory_format=torch.channels_last)",
    ".to(torch.cfloat).real",
    ".to(torch.complex64).conj().imag.resolve_conj()",
    ".repeat(2, 1).expand(-1, 6).unsqueeze(0).expand(size=(3, -1, 6))",
    ".chunk(2)[1].chunk(2, dim=1)[0][0]",
    ".unbind()[0].unbind(dim=0)[-1]",
    ".select(0, 1).select(dim=0, index=2)",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_chain_does_what_python_makes_of_the_same_text(text):
    """The second method: Python's own evaluation of this file's constant texts."""
    x = torch.arange(24.0).reshape(4, 6).clone()
    tensor = x
    for step in parse_chain(text):
        tensor = apply_step(tensor, step)
    wanted = eval(f"x{text}", {"x": x, "torch": torch})
    assert (tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype) == (
        wanted.shape,
        wanted.stride(),
        wanted.storage_offset(),
        wanted.dtype,
    )
    assert torch.equal(tensor.resolve_conj(), wanted.resolve_conj())
    assert parse_chain(f"  x {text} ") == parse_chain(text)


def test_what_pytorch_refuses_is_read_so_that_its_own_words_are_shown():
    assert parse_chain("[::-1]") == (Step("slice", (0, None, None, -1)),)
    assert parse_chain(".view(-2)[9].unsqueeze(40)")[1] == Step("select", (0, 9))
    assert parse_chain("") == parse_chain("  \n") == parse_chain("x") == ()


REFUSED = [
    (".transpos(0, 1)", "no operation .transpos. Did you mean .transpose?", 2),
    (".transpose(0)", "also needs dim1", 2),
    ("[0].transpose(0, 1, 2)", "takes 2 arguments; received 3", 5),
    (".transpose", "is a method. Call it", 2),
    (".T()", "is a property, not a method", 2),
    (".transpose(dim0=0, dim0=1)", "dim0 is given twice", 20),
    (".transpose(0, dim0=1)", "was given dim0 twice", 2),
    (".flip(axis=0)", "has no argument axis", 2),
    (".chunk(2)", "Pick one, as in .chunk(...)[0]", 2),
    (".to()", ".to needs a dtype or a memory format", 2),
    (".to(torch.flaot16)", "Did you mean torch.float16?", 5),
    (".to(torch.int4)", "torch.int4 cannot be used", 5),
    (".to(numpy.int4)", "Write dtypes and memory formats as torch.float16", 5),
    (".slice(0, 1)", "Write [1:4:2]", 2),
    (".reshape(0x10)", "'0x' is no whole number", 10),
    (".reshape(1e3)", "'1e' is no whole number", 10),
    (".view(1if 1else 2)", "'1i' is no whole number", 7),
    (".reshape(2.5)", "A whole number is needed here; received 2.5", 10),
    (".reshape(True)", "received True", 10),
    (".unsqueeze(999)", "dim must be between -64 and 63; received 999", 2),
    ("[[0, 1]]", "copies and is no view", 2),
    ("[..., ...]", "can only have one '...'", 7),
    ("[...]", "changes nothing", 2),
    ("[x]", "received x", 2),
    ("x + 1", "'+' has no place in a chain", 3),
    (".to('cpu')", "has no place in a chain", 5),
    (".reshape(2,", "was never closed", None),
    ("torch.flip(x, 0)", "Write the method", None),
    ("f(x)", "Brackets call what is no method", None),
    ("(1).T", "A chain starts with a tensor's name", None),
    (".T" * 600, "at most 1000 characters; received 1200", None),
    ("(" * 100, "nested deeper than 20", None),
    (".__class__.__bases__[0]", "no operation .__class__", 2),
    (".reshape(lambda: 0)", "A whole number is needed", 10),
]


@pytest.mark.parametrize(("text", "words", "column"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_cannot_be_read_is_refused_in_words_with_its_column(text, words, column):
    with pytest.raises(ChainError) as caught:
        parse_chain(text)
    assert words in str(caught.value)
    if column is not None:
        assert caught.value.column == column - 1
        assert f"(column {column})" in str(caught.value)


def test_columns_count_from_what_was_typed():
    with pytest.raises(ChainError, match=r"\(column 6\)"):
        parse_chain("   x.nothing()")


FRAGMENTS = [
    ".",
    "(",
    ")",
    "[",
    "]",
    ":",
    ",",
    "=",
    "-",
    "...",
    "x",
    "torch",
    "T",
    "view",
    "to",
    "chunk",
    "None",
    "1",
    "_",
]
FRAGMENTS += ["transpose", "dim", "lambda", "import", "9" * 30, " ", "if", "0x", "1e9", "\n", "float16", "__class__"]


@pytest.mark.filterwarnings("error")
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join) | st.text(max_size=60))
@example("\x00")
@example("x\x0c.T")
@example("٣")
@example(".view(" + "-" * 500 + "1)")
@example(".view(" + "not " * 150 + "1)")
@example("x" + "[0" * 20)
def test_hostile_text_is_read_or_refused_and_never_anything_else(text):
    try:
        chain = parse_chain(text)
    except ChainError:
        return
    assert parse_chain(format_chain(chain)) == chain
