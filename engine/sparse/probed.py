"""The operations that are tried on every layout, each a function of the same operands, sparse or dense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

F = torch.nn.functional


class Operands(NamedTuple):
    """x and y are sparse (or dense, for the reference) 6 x 6; d is a dense 6 x 6, v a dense vector, b a batch."""

    x: torch.Tensor
    y: torch.Tensor
    d: torch.Tensor
    v: torch.Tensor


Operation = Callable[[Operands], Any]


def _gradient(operation: Callable[[torch.Tensor, Operands], torch.Tensor]) -> Operation:
    def run(o: Operands) -> torch.Tensor | None:
        x = o.x.detach().requires_grad_()
        operation(x, o).backward()  # type: ignore[no-untyped-call]
        return x.grad

    return run


def _dense_gradient(o: Operands) -> torch.Tensor | None:
    d = o.d.detach().requires_grad_()
    (o.x @ d).sum().backward()  # type: ignore[no-untyped-call]
    return d.grad


def _softmax(o: Operands) -> torch.Tensor:
    return torch.sparse.softmax(o.x, 1) if o.x.layout is not torch.strided else _masked_softmax(o.x)


def _masked_softmax(x: torch.Tensor) -> torch.Tensor:
    """What `torch.sparse.softmax` is defined as: entries that are not stored count as minus infinity."""
    return F.softmax(x.masked_fill(x == 0, -torch.inf), 1).nan_to_num(0.0)


PROBES: dict[str, dict[str, Operation]] = {
    "elementwise, 0 stays 0": {
        "x.neg()": lambda o: o.x.neg(),
        "x.abs()": lambda o: o.x.abs(),
        "x.sin()": lambda o: o.x.sin(),
        "x.sqrt()": lambda o: o.x.abs().sqrt(),
        "x.relu()": lambda o: o.x.relu(),
        "x.sign()": lambda o: o.x.sign(),
        "x.log1p()": lambda o: o.x.abs().log1p(),
        "x * 2": lambda o: o.x * 2,
        "x / 2": lambda o: o.x / 2,
        "x.pow(2)": lambda o: o.x.pow(2),
        "x.isnan()": lambda o: o.x.isnan(),
    },
    "elementwise, 0 does not stay 0": {
        "x.exp()": lambda o: o.x.exp(),
        "x.cos()": lambda o: o.x.cos(),
        "x.sigmoid()": lambda o: o.x.sigmoid(),
        "x + 1": lambda o: o.x + 1,
        "x.clamp(min=1)": lambda o: o.x.clamp(min=1),
        "x == 0": lambda o: o.x == 0,
        "x > 1": lambda o: o.x > 1,
    },
    "with another tensor": {
        "x + y": lambda o: o.x + o.y,
        "x - y": lambda o: o.x - o.y,
        "x * y": lambda o: o.x * o.y,
        "x / y": lambda o: o.x / (o.y.to_dense() + 20),
        "x + dense": lambda o: o.x + o.d,
        "dense + x": lambda o: o.d + o.x,
        "x * dense": lambda o: o.x * o.d,
        "dense * x": lambda o: o.d * o.x,
        "torch.where": lambda o: torch.where(o.x.to_dense() > 0, o.x, o.y),
    },
    "products": {
        "x @ dense": lambda o: o.x @ o.d,
        "dense @ x": lambda o: o.d @ o.x,
        "x @ vector": lambda o: o.x @ o.v,
        "x @ y": lambda o: o.x @ o.y,
        "torch.sparse.mm(x, dense)": lambda o: torch.sparse.mm(o.x, o.d) if _is_sparse(o.x) else o.x @ o.d,
        "torch.addmm(dense, x, dense)": lambda o: torch.addmm(o.d, o.x, o.d),
        "F.linear(dense, x)": lambda o: F.linear(o.d, o.x),
        "sampled_addmm(x, d, d)": lambda o: _sampled(o),
    },
    "reductions": {
        "x.sum()": lambda o: o.x.sum(),
        "x.sum(0)": lambda o: o.x.sum(0),
        "x.sum(1)": lambda o: o.x.sum(1),
        "x.sum(1, keepdim=True)": lambda o: o.x.sum(1, keepdim=True),
        "x.mean()": lambda o: o.x.mean(),
        "x.max()": lambda o: o.x.max(),
        "x.norm()": lambda o: o.x.norm(),
        "x.softmax(1)": lambda o: o.x.softmax(1) if _is_sparse(o.x) else _masked_softmax(o.x),
        "torch.sparse.softmax(x, 1)": _softmax,
    },
    "shape and indexing": {
        "x.t()": lambda o: o.x.t(),
        "x.transpose(0, 1)": lambda o: o.x.transpose(0, 1),
        "x.reshape(3, 12)": lambda o: o.x.reshape(3, 12),
        "x.unsqueeze(0)": lambda o: o.x.unsqueeze(0),
        "x[1]": lambda o: o.x[1],
        "x[1, 1]": lambda o: o.x[1, 1],
        "x[:, 1]": lambda o: o.x[:, 1],
        "x[1:3]": lambda o: o.x[1:3],
        "x.index_select(0, …)": lambda o: o.x.index_select(0, torch.tensor([0, 2])),
        "torch.cat([x, y])": lambda o: torch.cat([o.x, o.y]),
        "torch.stack([x, y])": lambda o: torch.stack([o.x, o.y]),
    },
    "copies and conversions": {
        "x.clone()": lambda o: o.x.clone(),
        "x.detach()": lambda o: o.x.detach(),
        "x.to(torch.float64)": lambda o: o.x.to(torch.float64),
        "x.to_dense()": lambda o: o.x.to_dense(),
        "x.to_sparse()": lambda o: o.x.to_sparse() if _is_sparse(o.x) else o.x,
        "x.to_sparse_csr()": lambda o: o.x.to_sparse_csr() if _is_sparse(o.x) else o.x,
        "x.to_sparse_csc()": lambda o: o.x.to_sparse_csc() if _is_sparse(o.x) else o.x,
        "x.to_sparse_bsr((2, 2))": lambda o: o.x.to_sparse_bsr((2, 2)) if _is_sparse(o.x) else o.x,
        "torch.zeros_like(x)": lambda o: torch.zeros_like(o.x),
    },
    "in place": {
        "x.mul_(2)": lambda o: o.x.clone().mul_(2),
        "x.add_(y)": lambda o: o.x.clone().add_(o.y),
        "x.zero_()": lambda o: o.x.clone().zero_(),
        "dense.add_(x)": lambda o: o.d.clone().add_(o.x),
        "x.requires_grad_()": lambda o: o.x.detach().clone().requires_grad_().detach(),
    },
    "backward": {
        "x.grad of (x @ d).sum()": _gradient(lambda x, o: (x @ o.d).sum()),
        "d.grad of (x @ d).sum()": _dense_gradient,
        "x.grad of x.sum()": _gradient(lambda x, o: x.sum()),
        "x.grad of x.to_dense().sum()": _gradient(lambda x, o: x.to_dense().sum()),
        "x.grad of (x * 2).to_dense().sum()": _gradient(lambda x, o: (x * 2).to_dense().sum()),
    },
}
"""Topic -> what it is called -> the operation; written once and run on sparse and on dense operands alike."""


def _is_sparse(tensor: torch.Tensor) -> bool:
    return tensor.layout is not torch.strided


def _sampled(o: Operands) -> torch.Tensor:
    """x + (d @ d), at the places of x only."""
    if _is_sparse(o.x):
        added: torch.Tensor = torch.sparse.sampled_addmm(o.x, o.d, o.d)
        return added
    return torch.where(o.x != 0, o.x + o.d @ o.d, torch.zeros_like(o.x))
