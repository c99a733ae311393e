"""Adding gradients as the engine does, and telling whether two are the same bit for bit."""

from __future__ import annotations

import torch

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def added(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """first + second as autograd adds them: a sparse one onto a dense one."""
    first, second = first.detach(), second.detach()
    if first.layout != torch.strided and second.layout == torch.strided:
        return second + first
    return first + second


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors hold the same values bit for bit; NaN is NaN, whatever its payload."""
    first, second = first.detach(), second.detach()
    if first is second:
        return True
    if (first.shape, first.dtype, first.layout) != (second.shape, second.dtype, second.layout):
        return False
    if first.layout == torch.sparse_coo:
        one, other = first.coalesce(), second.coalesce()
        return torch.equal(one.indices(), other.indices()) and same_bits(one.values(), other.values())
    if first.layout != torch.strided:
        return same_bits(first.to_dense(), second.to_dense())
    if first.is_complex():
        return same_bits(torch.view_as_real(first.resolve_conj()), torch.view_as_real(second.resolve_conj()))
    return _same_reals(first.resolve_neg(), second.resolve_neg())


def _same_reals(first: torch.Tensor, second: torch.Tensor) -> bool:
    bits = _BITS[first.element_size()]
    if torch.equal(first.view(bits), second.view(bits)):
        return True
    differ = first.view(bits) != second.view(bits)
    return bool((first[differ].isnan() & second[differ].isnan()).all())
