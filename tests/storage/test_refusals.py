"""What is refused: by PyTorch as a result with its words, by the price before allocating, by us in words."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.runner.faults import Fault
from engine.storage.chain import parse_chain
from engine.storage.dtypes import DTYPES, is_differentiable
from engine.storage.spec import LayoutSpec
from tests.storage.chains import SHAPES, any_steps


def trace(chain="", **fields):
    return run(LayoutSpec(steps=parse_chain(chain), **fields), inline=True)


@pytest.mark.parametrize(
    ("chain", "type_", "words"),
    [
        (".as_strided((100,), (1,))", "RuntimeError", "out of bounds for storage of size 96"),
        (".as_strided((3,), (-1,), 10)", "RuntimeError", "Negative strides are not supported"),
        (".as_strided((2,), (1,), -1)", "RuntimeError", "invalid storage offset -1"),
        (".narrow(0, 3, 2)", "RuntimeError", "exceeds dimension size"),
        (".real.imag", "RuntimeError", "imag is not implemented for tensors with non-complex dtypes."),
        (".transpose(0, 5)", "IndexError", "Dimension out of range"),
        ("[9]", "IndexError", "index 9 is out of bounds for dimension 0 with size 4"),
        ("[0, 0, 0]", "IndexError", "invalid index of a 0-dim tensor"),
        (".expand(3, 6)", "RuntimeError", "must match the existing size (4)"),
        (".chunk(2)[2]", "IndexError", "out of range"),
        (".unfold(0, 9, 1)", "RuntimeError", "9"),
        (".repeat(-1, 1)", "RuntimeError", "negative dimension"),
    ],
)
def test_what_pytorch_refuses_is_a_result_and_no_fault(chain, type_, words):
    error = trace(chain).outcomes[-1].error
    assert error.type == type_
    assert words in error.message


def test_an_operation_that_a_dtype_lacks_is_refused_in_pytorchs_words():
    assert trace(".flip(1)", dtype="float8_e5m2").outcomes[0].error.message == (
        "\"flip_cpu\" not implemented for 'Float8_e5m2'"
    )


def test_what_is_too_large_is_refused_before_anything_is_allocated():
    """1.2 * 10^6 times 10^3 floats are 4.8 GB, a copy of an expanded tensor; the expanded tensor itself is fine."""
    wide = LayoutSpec(shape=(1000,), steps=parse_chain(".expand(1200000, 1000)"))
    assert run(wide, inline=True).layouts[1].view_bytes == 48 * 10**8
    for chain in (".expand(1200000, 1000).clone()", ".repeat(2000000, 1)", ".expand(1200000, 1000).flip(0)"):
        with pytest.raises(Fault, match="Not started: it would need about") as caught:
            run(LayoutSpec(shape=(1000,), steps=parse_chain(chain)), inline=True)
        assert caught.value.kind == "refused"
    for fields in ({"view_shape": (-1,)}, {"write": "add_"}):
        with pytest.raises(Fault, match="Not started"):
            run(LayoutSpec(shape=(1000,), steps=wide.steps, **fields), inline=True)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=120, deadline=None)
@given(SHAPES, st.sampled_from(DTYPES), st.lists(any_steps(), min_size=1, max_size=4), st.data())
def test_whatever_is_asked_is_traced_or_refused_and_never_a_fault_of_the_worker(shape, dtype, steps, data):
    spec = LayoutSpec(
        shape=shape,
        dtype=dtype,
        steps=tuple(steps),
        requires_grad=is_differentiable(dtype) and data.draw(st.booleans()),
        view_shape=data.draw(st.none() | SHAPES),
        write=data.draw(st.sampled_from(("none", "add_", "zero_"))),
        write_step=data.draw(st.integers(0, len(steps))),
    )
    try:
        traced = run(spec, inline=True)
    except Fault as fault:
        if fault.kind == "refused" or "StepRefused" in str(fault):
            return
        raise
    assert all(outcome.error is None for outcome in traced.outcomes[:-1])
    assert len(traced.layouts) == 1 + sum(outcome.error is None for outcome in traced.outcomes)


@pytest.mark.parametrize("chain", [".as_strided((1, -1, 0), (3, 0, 0))", ".unsqueeze(0)[0].expand(0, -2, 6)"])
def test_negative_sizes_that_pytorch_lets_through_are_refused_in_words(chain):
    with pytest.raises(Fault, match=r"sizes \(.*-\d.*PyTorch lets a negative size through.*Use sizes of 0 or more"):
        trace(chain, shape=(1, 6))


def test_many_views_at_once_are_refused_in_words():
    with pytest.raises(Fault, match=r"would make 5000 views at once; the limit here is 4096\. Use select\(0, index\)"):
        trace(".unbind()[0]", shape=(5000,))


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks for a device that is there")
def test_a_device_that_is_not_there_is_refused_in_words():
    with pytest.raises(Fault, match=r"LayoutSpec.device: 'cuda' is not available here: .*Use 'cpu'"):
        trace(device="cuda")
