"""An index is carried out as it is written: the same grad_fn and the same refusal as in plain PyTorch."""

from __future__ import annotations

import re

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.storage.chain import parse_chain
from engine.storage.spec import LayoutSpec
from tests.storage.chains import any_steps, chains, shapes_for

INDICES = ("[0:]", "[:]", "[1]", "[-1]", "[::2]", "[0:0]", "[:, 0:]", "[:, 1]", "[..., 0]", "[..., 1:]", "[..., 0:]")
SHAPES = ((), (0,), (3,), (4, 6), (2, 3, 2))


def plain(text, shape):
    """(grad_fn, "") or (None, the words of the refusal), from Python's own evaluation of this file's texts."""
    x = torch.zeros(shape, requires_grad=True)
    try:
        return eval(f"x{text}", {"x": x}).grad_fn.name(), ""
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("text", INDICES)
def test_an_index_has_the_grad_fn_and_the_refusal_of_plain_pytorch(text, shape):
    result = run(LayoutSpec(shape=shape, requires_grad=True, steps=parse_chain(text)), inline=True)
    error = result.outcomes[0].error
    found = result.layouts[1].grad_fn if error is None else None
    assert (found, "" if error is None else f"{error.type}: {error.message}") == plain(text, shape)


@st.composite
def specs(draw):
    shape, steps = draw(chains(most_steps=3))
    return LayoutSpec(
        shape=shape,
        steps=(*steps, *draw(st.lists(any_steps(), max_size=1))),
        view_shape=draw(shapes_for(6)),
        requires_grad=draw(st.booleans()),
        write=draw(st.sampled_from(("none", "add_", "zero_"))),
    )


ADDRESS = re.compile(r"0x[0-9a-f]{6,}|-?\d{12,}|\.cpp:\d+ \(most|\.so\b")
"""Also a bare number of twelve digits: the tensors are far smaller."""


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=100, deadline=None)
@given(specs())
def test_no_result_holds_an_address_of_the_process(spec):
    """Of sizes the spec asks for, those of ten digits at most come back."""
    assert not ADDRESS.findall(msgspec.json.encode(run(spec, inline=True)).decode())
