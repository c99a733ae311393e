"""Every operator against the whole contract: values, gradients, layouts, schema, vmap, compile, threads, sets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.operators import operator_names
from engine.operators.load import load
from tests.operators.case import DEVICES, Case, maker
from tests.operators.cases import CASES

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")
by_case = pytest.mark.parametrize("case", CASES, ids=str)
by_device = pytest.mark.parametrize("device", DEVICES)
twice = [case for case in CASES if case.twice_differentiable]
once = [case for case in CASES if not case.twice_differentiable and case.differentiable]


def built(case: Case, dtype: torch.dtype, device: str = "cpu", *, grad: bool = False) -> tuple[Any, ...]:
    """The case's inputs; those that are differentiable as leaves when `grad`."""
    inputs = case.inputs(maker(dtype, device))
    if not grad:
        return inputs
    return tuple(
        value.detach().clone().requires_grad_() if i in case.differentiable else value for i, value in enumerate(inputs)
    )


def in_float64(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        value.detach().to("cpu", torch.float64).requires_grad_(value.requires_grad)
        if isinstance(value, Tensor) and value.is_floating_point()
        else value
        for value in inputs
    )


def tensors(result: Any) -> tuple[Tensor, ...]:
    return (result,) if isinstance(result, Tensor) else tuple(result)


def assert_near(case: Case, got: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    assert got.shape == expected.shape
    if expected.numel() == 0:
        return
    size = max(expected.abs().max().item(), torch.finfo(dtype).tiny)
    error = (got.detach().cpu().double() - expected.detach()).abs().max().item()
    # The reference rounds to the 16-bit type after each of its steps, a kernel once.
    rounded_often = 1 if load().compiled or torch.finfo(dtype).bits > 16 else 8
    allowed = rounded_often * case.relative * torch.finfo(dtype).eps * size
    assert error <= allowed, f"error {error:.3g} of {size:.3g}"


def gradients(call: Callable[..., Any], inputs: tuple[Any, ...], upstream: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    leaves = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
    outputs = tensors(call(*inputs))
    return torch.autograd.grad(outputs, leaves, [g.to(o) for g, o in zip(upstream, outputs, strict=True)])


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
def test_gradcheck(case: Case):
    if not case.differentiable:
        pytest.skip("has no gradient")
    inputs = built(case, torch.float64, grad=True)
    if case.true_derivative:
        assert torch.autograd.gradcheck(case.call, inputs)
    else:
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            torch.autograd.gradcheck(case.call, inputs)


@pytest.mark.parametrize("case", twice, ids=str)
def test_gradgradcheck(case: Case):
    if not case.differentiable:
        pytest.skip("has no gradient")
    assert torch.autograd.gradgradcheck(case.call, built(case, torch.float64, grad=True))


@pytest.mark.parametrize("case", once, ids=str)
def test_a_second_derivative_is_refused_in_words(case: Case):
    inputs = built(case, torch.float64, grad=True)
    leaves = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
    first = torch.autograd.grad([out.sum() for out in tensors(case.call(*inputs))], leaves, create_graph=True)
    with pytest.raises(RuntimeError, match=f"{case.operator}.*not twice differentiable"):
        torch.autograd.grad([g.square().sum() for g in first], leaves)


@by_case
def test_opcheck(case: Case):
    """PyTorch's own: schema, autograd registration, fake tensors, dispatch under torch.compile with dynamic shapes."""
    seen: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    class Recorded(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if isinstance(func, torch._ops.OpOverloadPacket | torch._ops.OpOverload) and "atlas" in str(func):
                seen.append((func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Recorded():
        case.call(*built(case, torch.float32, grad=True))
    assert seen
    for func, args, kwargs in seen:
        overload = func.default if isinstance(func, torch._ops.OpOverloadPacket) else func
        torch.library.opcheck(overload, args, kwargs)


def by_tangents(call: Callable[..., Any], case: Case, inputs: tuple[Any, ...]) -> Callable[..., tuple[Tensor, ...]]:
    """`call` as a function of the differentiable inputs alone."""

    def of(*given: Tensor) -> tuple[Tensor, ...]:
        args = list(inputs)
        for i, value in zip(case.differentiable, given, strict=True):
            args[i] = value
        return tensors(call(*args))

    return of


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable], ids=str)
def test_forward_mode_and_torch_func_agree_with_reverse_mode(case: Case):
    inputs = built(case, torch.float64)
    given = [inputs[i] for i in case.differentiable]
    tangents = [torch.randn_like(value) for value in given]
    ours = by_tangents(case.call, case, inputs)
    outputs, pushed = torch.func.jvp(ours, tuple(given), tuple(tangents))
    upstream = tuple(torch.randn_like(out) for out in outputs)
    leaves = [value.clone().requires_grad_() for value in given]
    expected = torch.autograd.grad(ours(*leaves), leaves, upstream)
    pulled = torch.func.vjp(ours, *given)[1](upstream)
    torch.testing.assert_close(pulled, expected)
    # <upstream, J tangents> = <J^T upstream, tangents>
    across = sum((u * t).sum() for u, t in zip(upstream, pushed, strict=True))
    torch.testing.assert_close(across, sum((g * t).sum() for g, t in zip(expected, tangents, strict=True)))
    with torch.autograd.forward_ad.dual_level():
        dual = ours(*map(torch.autograd.forward_ad.make_dual, given, tangents))
        torch.testing.assert_close([torch.autograd.forward_ad.unpack_dual(y).tangent for y in dual], list(pushed))


@pytest.mark.parametrize("case", [case for case in twice if case.differentiable and case.true_derivative], ids=str)
def test_every_order_of_both_modes_gives_one_second_derivative(case: Case):
    inputs = built(case, torch.float64)
    given = [inputs[i] for i in case.differentiable]
    ours, theirs = by_tangents(case.call, case, inputs), by_tangents(case.reference, case, inputs)
    direction, other = ([torch.randn_like(value) for value in given] for _ in range(2))

    def cubed(outputs: tuple[Tensor, ...]) -> Tensor:
        return sum((out.pow(3).sum() for out in outputs), torch.zeros((), dtype=torch.float64))

    def slope(call: Callable[..., Any], along: list[Tensor], step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: step(call, xs, along)

    def forward(call: Callable[..., Any], xs: tuple[Tensor, ...], along: list[Tensor]) -> Any:
        return torch.func.jvp(call, tuple(xs), tuple(along))[1]

    def reverse(call: Callable[..., Any], xs: tuple[Tensor, ...], along: list[Tensor]) -> Any:
        gradient = torch.func.grad(call, argnums=tuple(range(len(xs))))(*xs)
        return sum((g * t).sum() for g, t in zip(gradient, along, strict=True))

    leaves = [value.clone().requires_grad_() for value in given]
    first = torch.autograd.grad(cubed(theirs(*leaves)), leaves, create_graph=True)
    second = torch.autograd.grad([(g * t).sum() for g, t in zip(first, direction, strict=True)], leaves)
    expected = sum((g * t).sum() for g, t in zip(second, other, strict=True))
    for inner in (forward, reverse):
        for outer in (forward, reverse):
            found = slope(slope(lambda *xs: cubed(ours(*xs)), direction, inner), other, outer)(*given)
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8 * expected.abs().item() + 1e-12)


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "strided": lambda x: torch.stack((x, torch.zeros_like(x)), -1)[..., 0],
    "offset": lambda x: torch.cat((torch.zeros_like(x)[:1], x))[1:],
    "reversed storage": lambda x: x.flip(-1).contiguous().flip(-1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@by_case
def test_layouts_change_neither_values_nor_gradients(case: Case, layout: str):
    inputs = built(case, torch.float32, grad=True)
    laid_out = tuple(
        LAYOUTS[layout](value.detach()).requires_grad_(value.requires_grad)
        if isinstance(value, Tensor) and value.is_floating_point() and value.dim() > 0
        else value
        for value in inputs
    )
    outputs = tensors(case.call(*inputs))
    for got, expected in zip(tensors(case.call(*laid_out)), outputs, strict=True):
        torch.testing.assert_close(got, expected)
    if case.differentiable:
        upstream = tuple(torch.randn_like(out) for out in outputs)
        expected = gradients(case.call, inputs, upstream)
        strided = tuple(LAYOUTS[layout](g) if g.dim() else g for g in upstream)
        for got, right in zip(gradients(case.call, laid_out, strided), expected, strict=True):
            torch.testing.assert_close(got, right)


@pytest.mark.parametrize("case", [case for case in CASES if case.elementwise], ids=str)
def test_elementwise_operators_take_any_shape(case: Case):
    make = maker(torch.float32)
    _, *others = built(case, torch.float32)
    if others and any(isinstance(value, Tensor) for value in others):
        pytest.skip("its other inputs fix the shape")
    for x in (make(), make(0), make(3, 0, 2), make(1), make(2, 3, 4, 5).to(memory_format=torch.channels_last)):
        y = case.call(x.clone().requires_grad_(), *others)
        assert (y.shape, y.stride()) == (x.shape, x.stride())
        assert_near(case, y, case.reference(x.double(), *others), torch.float32)
        y.sum().backward()


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
def test_compiled_by_inductor_gives_the_same(case: Case):
    inputs = built(case, torch.float32, grad=True)
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


@compiled_only
@by_case
def test_a_wrong_dtype_is_refused_by_name(case: Case):
    inputs = [
        value.to(torch.int32) if isinstance(value, Tensor) and value.is_floating_point() else value
        for value in built(case, torch.float32)
    ]
    with pytest.raises(RuntimeError, match=f"^{case.operator}: expected .*; received int32"):
        case.call(*inputs)
