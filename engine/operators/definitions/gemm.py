"""gemm: the matrix product as a ladder of kernels, from three loops to packed panels and a register tile."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from engine.operators.registration import Operator, register

Kernel = Literal["naive", "ikj", "tiled", "packed", "matmul"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)


def gemm(a: Tensor, b: Tensor, kernel: Kernel = "packed") -> Tensor:
    """a (..., M, K) times b (..., K, N) -> (..., M, N); leading dimensions broadcast as in torch.matmul.

    Any strides, without a copy; float32, float64, bfloat16 or float16, the 16-bit types summed in float and rounded
    once. "matmul" calls ATen's from the extension. Sums do not depend on the number of threads. The blocking is that
    of Goto and van de Geijn, 2008.
    """
    if a.dim() == 2 and b.dim() == 2:
        result: Tensor = _gemm(a, b, kernel)
        return result
    if a.dim() < 2 or b.dim() < 2:
        raise ValueError(
            f"gemm: expected a (..., M, K) and b (..., K, N); received shapes {tuple(a.shape)} and {tuple(b.shape)}. "
            "A vector becomes a matrix by unsqueeze."
        )
    if b.dim() == 2:
        rows: Tensor = _gemm(a.flatten(0, -2), b, kernel)
        return rows.reshape(*a.shape[:-1], b.shape[-1])
    return _batched(a, b, kernel)


def _batched(a: Tensor, b: Tensor, kernel: Kernel) -> Tensor:
    lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])  # type: ignore[no-untyped-call]
    left = a.expand(*lead, *a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = b.expand(*lead, *b.shape[-2:]).reshape(-1, *b.shape[-2:])
    if math.prod(lead) == 0:
        return a.new_empty((*lead, a.shape[-2], b.shape[-1]))
    products = [_gemm(one, other, kernel) for one, other in zip(left.unbind(), right.unbind(), strict=True)]
    return torch.stack(products).reshape(*lead, a.shape[-2], b.shape[-1])


def _reference(a: Tensor, b: Tensor, kernel: str = "packed") -> Tensor:
    if kernel not in KERNELS:
        raise RuntimeError(f"gemm: expected kernel naive, ikj, tiled, packed or matmul; received {kernel}")
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
        fake=lambda a, b, kernel="packed": a.new_empty((a.shape[0], b.shape[1])),
        setup_context=_save,
        backward=_backward,
        autocast="lower",
        vmap=_vmap,
    )
)
