"""Every operator against the contract: values, gradients, schema, vmap, compile, threads, instruction sets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from engine.operators import operator_names
from tests.operators.case import Case
from tests.operators.cases import CASES
from tests.operators.contract import (
    assert_near,
    built,
    by_case,
    by_device,
    calls,
    compiled_only,
    gradients,
    in_float64,
    tensors,
)


def test_every_operator_has_a_row():
    assert {case.operator for case in CASES} == set(operator_names())


@by_device
@by_case
def test_values_agree_with_pytorch_in_float64(case: Case, device: str):
    for dtype in case.dtypes:
        inputs = built(case, dtype, device)
        for got, expected in zip(
            tensors(case.call(*inputs)), tensors(case.reference(*in_float64(inputs))), strict=True
        ):
            assert got.dtype == dtype
            assert_near(case, got, expected, dtype)


@by_device
@by_case
def test_gradients_agree_with_pytorch_in_float64(case: Case, device: str):
    if not case.differentiable:
        pytest.skip("has no gradient")
    for dtype in case.dtypes:
        inputs = built(case, dtype, device, grad=True)
        upstream = tuple(torch.randn_like(out) for out in tensors(case.call(*inputs)))
        expected = gradients(case.reference, in_float64(inputs), tuple(g.cpu() for g in upstream))
        for got, right in zip(gradients(case.call, inputs, upstream), expected, strict=True):
            assert got.dtype == dtype
            assert_near(case, got, right, dtype)


@by_case
def test_opcheck(case: Case):
    """PyTorch's own: schema, autograd registration, fake tensors, dispatch under torch.compile with dynamic shapes."""
    for overload, args, kwargs in calls(case, built(case, torch.float32, grad=True)):
        torch.library.opcheck(overload, args, kwargs)


@compiled_only
@by_case
def test_every_instruction_set_agrees_and_is_deterministic(case: Case):
    use = torch.ops.atlas.instruction_set
    best = use()
    try:
        for name in ("baseline", "avx2", "avx512"):
            try:
                use(name)
            except RuntimeError as error:
                assert "this CPU has no" in str(error)  # noqa: PT017
                continue
            inputs = built(case, torch.float32)
            first, again = tensors(case.call(*inputs)), tensors(case.call(*inputs))
            expected = tensors(case.reference(*in_float64(inputs)))
            for got, same, right in zip(first, again, expected, strict=True):
                assert torch.equal(got, same)
                assert_near(case, got, right, torch.float32)
    finally:
        use(best)


@by_case
def test_threads_calling_at_once_get_what_one_gets(case: Case):
    inputs = built(case, torch.float32)
    expected = tensors(case.call(*inputs))
    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(lambda _: tensors(case.call(*inputs)), range(16)):
            assert all(torch.equal(got, right) for got, right in zip(results, expected, strict=True))


@pytest.mark.parametrize("case", [case for case in CASES if case.vmap], ids=str)
def test_vmap_is_the_loop(case: Case):
    batches = [built(case, torch.float64) for _ in range(3)]
    index = [i for i, value in enumerate(batches[0]) if isinstance(value, Tensor) and value.is_floating_point()]
    stacked = [torch.stack([batch[i] for batch in batches]) if i in index else v for i, v in enumerate(batches[0])]
    got = torch.vmap(case.call, in_dims=tuple(0 if i in index else None for i in range(len(stacked))))(*stacked)
    expected = torch.stack([case.call(*batch) for batch in batches])
    torch.testing.assert_close(got, expected)


@pytest.mark.slow
@by_case
def test_compiled_by_aot_eager_gives_the_same(case: Case):
    inputs = built(case, torch.float32, grad=True)
    torch.compiler.reset()  # every case is one recompilation of the same frame
    compiled = torch.compile(case.call, fullgraph=True, backend="aot_eager")
    outputs = tensors(case.call(*inputs))
    for got, expected in zip(tensors(compiled(*inputs)), outputs, strict=True):
        torch.testing.assert_close(got, expected)
    if case.differentiable:
        upstream = tuple(torch.randn_like(out) for out in outputs)
        for got, right in zip(
            gradients(compiled, inputs, upstream), gradients(case.call, inputs, upstream), strict=True
        ):
            torch.testing.assert_close(got, right)
