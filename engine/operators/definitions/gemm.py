"""gemm: the matrix product as a ladder of kernels, from three loops to packed panels and a register tile."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from engine.operators.checks import expect, expect_device, expect_dtype, expect_floating, shape_text
from engine.operators.registration import Operator, register

Kernel = Literal["naive", "ikj", "tiled", "packed", "matmul"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)


def gemm(a: Tensor, b: Tensor, kernel: Kernel = "packed") -> Tensor:
    """a (..., M, K) times b (..., K, N) -> (..., M, N); leading dimensions broadcast as in torch.matmul.

    Any strides, without a copy; float32, float64, bfloat16 or float16, the 16-bit types summed in float and rounded
    once. "matmul" calls ATen's from the extension. Sums do not depend on the number of threads. The blocking is that
    of Goto and van de Geijn, 2008.
    """
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or (a.dim() == 2 and b.dim() == 2):
        result: Tensor = _gemm(a, b, kernel)
        return result
    if a.dim() < 2 or b.dim() < 2:
        raise ValueError(
            f"gemm: expected a (..., M, K) and b (..., K, N); received shapes {tuple(a.shape)} and {tuple(b.shape)}. "
            "A vector becomes a matrix by unsqueeze."
        )
    _expect_inner(a, b)
    if b.dim() == 2:
        rows: Tensor = _gemm(a.flatten(0, -2), b, kernel)
        return rows.reshape(*a.shape[:-1], b.shape[-1])
    return _batched(a, b, kernel)


def _batched(a: Tensor, b: Tensor, kernel: Kernel) -> Tensor:
    try:
        lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # type: ignore[no-untyped-call]
    except RuntimeError:
        received = f"received a {shape_text(a)} and b {shape_text(b)}"
        raise RuntimeError(f"gemm: expected leading dimensions that broadcast; {received}") from None
    if math.prod(lead) == 0:
        return _of_no_matrices(a, b, lead, kernel)
    left = a.expand(*lead, *a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = b.expand(*lead, *b.shape[-2:]).reshape(-1, *b.shape[-2:])
    products = [_gemm(one, other, kernel) for one, other in zip(left.unbind(), right.unbind(), strict=True)]
    return torch.stack(products).reshape(*lead, a.shape[-2], b.shape[-1])


def _of_no_matrices(a: Tensor, b: Tensor, lead: tuple[int, ...], kernel: Kernel) -> Tensor:
    """Of no elements, but of the dtype and with the history that a product of such matrices has."""
    left, right = (x.sum(tuple(range(x.dim() - 2))) if x.dim() > 2 else x for x in (a, b))
    one: Tensor = _gemm(left, right, kernel)
    return one.expand(1, *one.shape)[:0].reshape(*lead, *one.shape)


def _expect_inner(a: Tensor, b: Tensor) -> None:
    wanted = f"gemm: expected b with as many rows as a has columns, {a.shape[-1]}"
    expect(a.shape[-1] == b.shape[-2], f"{wanted}; received a {shape_text(a)} and b {shape_text(b)}")


def _check(a: Tensor, b: Tensor, variant: str = "packed") -> None:
    expect_floating("gemm", "a", a)
    expect_floating("gemm", "b", b)
    expect_device("gemm", "a", a, "b", b)
    expect_dtype("gemm", "a", a, "b", b)
    received = f"received shapes {shape_text(a)} and {shape_text(b)}"
    expect(a.dim() == 2 and b.dim() == 2, f"gemm: expected matrices a (M, K) and b (K, N); {received}")
    _expect_inner(a, b)
    wanted = "gemm: expected kernel naive, ikj, tiled, packed or matmul"
    expect(variant in KERNELS, f"{wanted}; received {variant}")


def _reference(a: Tensor, b: Tensor, variant: str = "packed") -> Tensor:
    return torch.matmul(a, b)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    a, b, ctx.kernel = inputs
    ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b if ctx.needs_input_grad[0] else None)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
    """grad b^T and a^T grad, by the same kernel, which reads the transposes through their strides."""
    a, b = ctx.saved_tensors
    grad_a = None if b is None else _gemm(grad, b.t(), ctx.kernel)
    grad_b = None if a is None else _gemm(a.t(), grad, ctx.kernel)
    return grad_a, grad_b, None


def _vmap(info: Any, in_dims: tuple[Any, ...], a: Tensor, b: Tensor, kernel: Kernel = "packed") -> tuple[Tensor, int]:
    """A batch of a with one b is one taller product; any other is the product of each pair."""
    left = a if in_dims[0] is None else a.movedim(in_dims[0], 0)
    right = b if in_dims[1] is None else b.movedim(in_dims[1], 0)
    return gemm(left, right, kernel), 0


_gemm = register(
    Operator(
        name="gemm",
        reference=_reference,
        fake=lambda a, b, variant="packed": a.new_empty((a.shape[0], b.shape[1])),
        check=_check,
        setup_context=_save,
        backward=_backward,
        autocast="lower",
        vmap=_vmap,
    )
)
