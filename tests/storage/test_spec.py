"""What a LayoutSpec and a Step accept, and every refusal in words: what, limit, received, remedy."""

from __future__ import annotations

import msgspec
import pytest
import torch

from engine.storage.dtypes import DTYPES, UNBUILDABLE, is_differentiable, itemsize
from engine.storage.operations import OPERATIONS, Step
from engine.storage.spec import MAXIMUM_ELEMENTS, LayoutSpec

EVERY_DTYPE = sorted({str(v).removeprefix("torch.") for v in vars(torch).values() if isinstance(v, torch.dtype)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY_DTYPE)
def test_every_dtype_of_torch_can_be_chosen_or_has_a_reason(name):
    """Can be chosen: built, filled, indexed and read, all by PyTorch. Probed, so a new torch cannot go unnoticed."""
    dtype = getattr(torch, name)
    try:
        works = torch.arange(6).reshape(2, 3).to(dtype).t()[1].contiguous()[1].item() is not None
    except (RuntimeError, NotImplementedError):
        works = False
    assert works == (name in DTYPES)
    assert works != (name in UNBUILDABLE)


def test_no_dtype_is_named_that_torch_lacks():
    assert {*DTYPES, *UNBUILDABLE} == set(EVERY_DTYPE)


@pytest.mark.parametrize("name", DTYPES)
def test_itemsize_and_differentiability_are_torchs(name):
    dtype = getattr(torch, name)
    assert itemsize(name) == dtype.itemsize
    assert is_differentiable(name) == (dtype.is_floating_point or dtype.is_complex)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_what_an_inserted_step_starts_with_is_valid(operation):
    full = Step(operation.name, tuple(parameter.default for parameter in operation.parameters))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(full), type=Step) == full
    needed = tuple(p.default for p in operation.parameters if not p.optional)
    if all(p.optional for p in operation.parameters[len(needed) :]):
        assert Step(operation.name, needed) == full
    assert operation.doc.endswith((".", "unless it has it."))


REFUSED_STEPS = [
    (("transpos", (0, 1)), "no operation 'transpos'. Did you mean transpose?"),
    (("__class__", ()), "no operation '__class__'. Use one of transpose,"),
    ((7, ()), "no operation 7"),
    (("transpose", (0,)), "transpose takes (dim0, dim1); received 1 arguments"),
    (("contiguous", ("channels_last", 1)), "received 2 arguments"),
    (("transpose", (0, 1.5)), "dim1 must be a whole number; received 1.5"),
    (("transpose", (0, True)), "dim1 must be a whole number; received True"),
    (("transpose", (0, 64)), "dim1 must be between -64 and 63; received 64"),
    (("transpose", (0, None)), "dim1 must be a whole number; received None"),
    (("permute", (1,)), "dims must be a tuple of whole numbers; received 1"),
    (("reshape", ((2, "a"),)), "shape entry 1 must be a whole number; received 'a'"),
    (("reshape", ((1,) * 17,)), "at most 16 entries; received 17"),
    (("reshape", ((2**40,),)), "shape entry 0 must be between"),
    (("slice", (0, 0, 2**31, 1)), "stop must be between -2147483647 and 2147483647; received 2147483648"),
    (("chunk", (5000, 0, 0)), "chunks must be between -1024 and 1024; received 5000"),
    (("to_dtype", ("float61",)), "received 'float61'. Did you mean float64?"),
    (("to_dtype", (7,)), "must be one of float32,"),
    (("clone", ("channels",)), "memory_format must be one of contiguous_format,"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED_STEPS, ids=str)
def test_a_step_that_makes_no_sense_is_refused_in_words(arguments, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the words are compared below
        Step(*arguments)
    assert words in str(caught.value)


REFUSED_SPECS = [
    ({"shape": (2, -1)}, "shape entry 1 must be a whole number between 0 and 1000000; received -1"),
    ({"shape": (2_000_000,)}, "received 2000000"),
    ({"shape": (1.5,)}, "received 1.5"),
    ({"shape": (True,)}, "received True"),
    ({"shape": (1,) * 7}, "at most 6 dimensions; received 7"),
    ({"shape": (10**6, 10**6)}, f"at most {MAXIMUM_ELEMENTS} elements; received (1000000, 1000000) with {10**12}"),
    ({"memory_format": "channels_last"}, "channels_last needs 4 dimensions; received shape (4, 6) with 2"),
    ({"memory_format": "channels_last_3d", "shape": (1, 2, 3, 4)}, "channels_last_3d needs 5 dimensions"),
    ({"requires_grad": True, "dtype": "int64"}, "floating point or complex dtype; received int64"),
    ({"requires_grad": True, "dtype": "bool"}, "received bool"),
    ({"dtype": "int4"}, "must be one of 'float32'"),
    ({"steps": (Step("detach"),) * 13}, "at most 12 steps; received 13"),
    ({"view_shape": (-1, -1)}, "may have one -1, the size to infer; received (-1, -1)"),
    ({"view_shape": (-2,)}, "view_shape entry 0 must be a whole number between -1"),
    ({"view_shape": (1,) * 17}, "at most 16 dimensions"),
    ({"write": "add_", "write_step": 1}, "within the chain, 0 to 0; received 1"),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED_SPECS, ids=str)
def test_a_layout_that_makes_no_sense_is_refused_in_words(fields, words):
    with pytest.raises(ValueError, match=r"received") as caught:
        LayoutSpec(**fields)
    message = str(caught.value)
    assert words in message
    assert message.startswith("LayoutSpec.")
    assert message.count(". ") >= 1  # ends with how to mend it


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 6, (1_000_000, 67), (8192, 8192)])
def test_shapes_at_the_limits_are_accepted(shape):
    assert LayoutSpec(shape=shape).shape == shape
