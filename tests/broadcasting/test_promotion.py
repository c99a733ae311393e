"""Type promotion without torch gives what torch gives, over every pair of dtypes and kinds of operand."""

from __future__ import annotations

import itertools
from typing import get_args

import torch

from engine.broadcasting.operands import build_operand
from engine.broadcasting.promotion import promote, promoted_dtype, promotion_in_words
from engine.broadcasting.spec import Operand, OperandDtype

DTYPES = [name for name in get_args(OperandDtype) if not name.startswith("Python")]
OPERANDS = [
    *(Operand((2,), name) for name in DTYPES),
    *(Operand((), name) for name in DTYPES),
    *(Operand((), name) for name in get_args(OperandDtype) if name.startswith("Python")),
]


def test_promotion_is_torch_promote_types():
    for first, second in itertools.product(DTYPES, repeat=2):
        expected = torch.promote_types(getattr(torch, first), getattr(torch, second))
        assert f"torch.{promote(first, second)}" == str(expected), (first, second)


def test_promotion_over_tensors_0_dim_and_numbers_is_torch_result_type():
    for pair in itertools.product(OPERANDS, repeat=2):
        if all(operand.is_number for operand in pair):
            continue
        expected = torch.result_type(*(build_operand(operand, "cpu") for operand in pair))
        assert f"torch.{promoted_dtype(pair)}" == str(expected), pair


def test_the_words_name_the_dtype_that_comes_out():
    for pair in itertools.product(OPERANDS, repeat=2):
        assert promoted_dtype(pair) in promotion_in_words(pair), pair


def test_the_words_name_who_decides():
    assert "changes nothing" in promotion_in_words((Operand((3,), "float16"), Operand((), "float64")))
    assert "lifts the result to float32" in promotion_in_words((Operand((3,), "int8"), Operand((), "Python float")))
    assert "float16 and bfloat16 promote to float32" in promotion_in_words(
        (Operand((3,), "float16"), Operand((3,), "bfloat16"))
    )
