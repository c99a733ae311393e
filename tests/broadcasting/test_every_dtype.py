"""Every operation over every pair of dtypes, Python numbers included, does what plain torch does, and so do scripts."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import operator
import warnings
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import torch

from engine import run
from engine.broadcasting.expanded import trace_broadcast
from engine.broadcasting.results import Broadcast
from engine.broadcasting.spec import BroadcastSpec, Operand, OperandDtype, Operation
from engine.script import script_for

DTYPES = get_args(OperandDtype)
CONDITIONS = ("bool", "uint8", "float32", "Python bool")
NUMBERS = {"Python bool": True, "Python int": 2, "Python float": 0.5, "Python complex": 1j}
BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "matmul": operator.matmul}


def operand_of(dtype: str, shape: tuple[int, ...]) -> Operand:
    return Operand(() if dtype in NUMBERS else shape, dtype)


def pairs(operation: str) -> Iterator[BroadcastSpec]:
    """Every pair of dtypes that holds a tensor, for `where` behind every kind of condition."""
    shapes = ((2, 3), (3, 2)) if operation == "matmul" else ((2, 1), (3,))
    fronts = [(name,) for name in CONDITIONS] if operation == "where" else [()]
    for front, *dtypes in itertools.product(fronts, DTYPES, DTYPES):
        operands = (*(operand_of(name, (3,)) for name in front), *map(operand_of, dtypes, shapes))
        if not all(operand.is_number for operand in operands):
            yield BroadcastSpec(operation=operation, operands=operands)


def leaf(operand: Operand) -> Any:
    """The operand in plain torch: counted up from 1."""
    if operand.is_number:
        return NUMBERS[operand.dtype]
    counted = torch.arange(math.prod(operand.shape)).reshape(operand.shape)
    if operand.dtype == "bool":
        return counted % 2 == 0
    tensor = (counted % 7 + 1).to(getattr(torch, operand.dtype))
    return tensor.requires_grad_() if tensor.is_floating_point() or tensor.is_complex() else tensor


def in_plain_torch(spec: BroadcastSpec) -> tuple[str, str, list[tuple[int, ...] | None]]:
    """(dtype, words of a refused backward, gradient shapes), or (error type, its words, [])."""
    operands = [leaf(operand) for operand in spec.operands]
    try:
        if spec.operation == "where":
            result = torch.where(*operands)
        elif spec.operation == "mse_loss":
            result = torch.nn.functional.mse_loss(*operands, reduction="none")
        else:
            result = operands[0]
            for other in operands[1:]:
                result = BINARY[spec.operation](result, other)
    except Exception as error:
        return type(error).__name__, str(error), []
    words = ""
    if result.requires_grad:
        try:
            result.backward(torch.ones_like(result))
        except RuntimeError as error:
            words = str(error)
    gradients = [getattr(operand, "grad", None) for operand in operands]
    return str(result.dtype), words, [None if grad is None else tuple(grad.shape) for grad in gradients]


def traced(spec: BroadcastSpec) -> Broadcast:
    return trace_broadcast(spec, lambda *_: None)


def check(spec: BroadcastSpec) -> Broadcast:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (said, words, gradients), outcome = in_plain_torch(spec), traced(spec)
    if outcome.error is not None:
        assert (outcome.error.type, outcome.error.message) == (said, words), spec
        return outcome
    assert f"torch.{outcome.dtype}" == said, spec
    assert (outcome.backward_error.message if outcome.backward_error else "") == words, spec
    assert [place.gradient and place.gradient.shape for place in outcome.operands] == gradients, spec
    assert {place.gradient.max_abs_error for place in outcome.operands if place.gradient} <= {0.0}, spec
    return outcome


@pytest.mark.parametrize("operation", get_args(Operation))
def test_a_pair_of_dtypes_is_computed_or_refused_as_by_torch_and_no_gradient_is_off(operation):
    outcomes = [check(spec) for spec in pairs(operation)]
    assert len(outcomes) >= len(DTYPES) ** 2 - len(NUMBERS) ** 2
    assert any(place.gradient for outcome in outcomes for place in outcome.operands)


@pytest.mark.parametrize("operation", ["add", "sub", "mul"])
def test_three_operands_are_no_exception(operation):
    shapes = ((3,), (2, 1), (2, 1, 1))
    kinds = ("float32", "bfloat16", "float64", "complex64", "int16", "Python complex")
    checked = 0
    for dtypes in itertools.product(kinds, repeat=3):
        if not set(dtypes) <= NUMBERS.keys():
            check(BroadcastSpec(operation=operation, operands=tuple(map(operand_of, dtypes, shapes))))
            checked += 1
    assert checked > 200


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 6))])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "complex128"])
def test_no_product_of_matrices_is_off(shapes, dtype):
    check(BroadcastSpec(operation="matmul", operands=tuple(Operand(shape, dtype) for shape in shapes)))


@pytest.mark.parametrize("condition", ["uint8", "bool"])
def test_every_false_of_a_condition_gives_the_gradient_to_the_other(condition):
    """By hand: uint8 0 is false, any other number true; `~` of 1 would be 254, which is true as well."""
    spec = BroadcastSpec(operation="where", operands=(Operand((4,), condition), Operand((4,)), Operand((4,))))
    outcome = check(spec)
    assert [place.gradient is not None for place in outcome.operands] == [False, True, True]


def printed(spec: BroadcastSpec) -> str:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue()


@pytest.mark.parametrize("operation", get_args(Operation))
def test_a_script_prints_the_same_refusal_or_dtype(operation):
    refused = 0
    for spec in pairs(operation):
        if spec.operation == "where" and spec.operands[0].dtype in ("uint8", "float32"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = traced(spec)
        text = printed(spec)
        if outcome.error is not None:
            assert text == f"{outcome.error.message}\n", spec
            refused += 1
            continue
        assert f"\ndtype torch.{outcome.dtype}\n" in text, spec
        shapes = [place.gradient.shape for place in outcome.operands if place.gradient]
        last = outcome.backward_error.message if outcome.backward_error else f"grad shapes {shapes}"
        assert text.endswith(f"\n{last}\n") or not shapes, spec
    assert refused or operation in ("add", "mul")


def in_torch(code: str, spec: BroadcastSpec) -> torch.Tensor:
    """The fix as a reader would type it, in plain torch."""
    operands = dict(zip("abcd", map(leaf, spec.operands), strict=False))
    operands[code[0]] = eval(code, dict(operands))
    if spec.operation == "where":
        return torch.where(*operands.values())
    if spec.operation == "mse_loss":
        return torch.nn.functional.mse_loss(*operands.values(), reduction="none")
    return BINARY[spec.operation](*operands.values())


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "matmul", "mse_loss"])
def test_what_is_offered_as_fitting_fits_with_these_dtypes_and_takes_these_bytes(operation):
    dtypes = [name for name in DTYPES if name not in NUMBERS]
    shapes = ((3, 4), (3,)) if operation == "matmul" else ((5,), (4,))
    offered = refused = 0
    for pair in itertools.product(dtypes, repeat=2):
        spec = BroadcastSpec(operation=operation, operands=tuple(map(Operand, shapes, pair)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = traced(spec)
            for fix in outcome.fixes:
                assert in_torch(fix.code, spec).untyped_storage().nbytes() == fix.output_bytes, (spec, fix)
        assert bool(outcome.fixes) != (outcome.fix_refusal is not None), spec
        offered += len(outcome.fixes)
        refused += outcome.fix_refusal is not None
    assert offered
    assert refused or operation in ("add", "mul")


def test_bytes_of_a_fix_are_of_the_result_by_hand():
    outcome = run(BroadcastSpec(operands=(Operand((5,)), Operand((4,), "complex128"))), inline=True)
    assert {fix.output_bytes for fix in outcome.fixes} == {5 * 4 * 16}


def test_a_fix_of_shapes_too_large_to_make_is_read_from_the_meta_device():
    outcome = run(BroadcastSpec(operands=(Operand((50_000,), "int16"), Operand((40_000,), "int8"))), inline=True)
    assert {fix.output_bytes for fix in outcome.fixes} == {50_000 * 40_000 * 2}
