"""Small tensor expressions, each a module whose inputs are its leaves; `named` keeps the intermediates worth a name."""

from typing import Any

import torch
from torch import nn


class Expression(nn.Module):
    """Base: `example_leaves()` makes the inputs, `forward` computes and fills `named`."""

    def __init__(self) -> None:
        super().__init__()
        self.named: dict[str, torch.Tensor] = {}


class MulSelf(Expression):
    """(a * a).sum(): both saved slots are one tensor."""

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return (a * a).sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"a": torch.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)}


class SharedLeaf(Expression):
    """(a * (a + 7)).sum(): one leaf used twice, and a constant that leaves an empty slot."""

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return (a * (a + 7)).sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"a": torch.tensor([3.0], dtype=dtype, requires_grad=True)}


class UnbindIter(Expression):
    """Unpacking a tensor row by row: one UnbindBackward0 with three outputs, of which q is not used."""

    def forward(self, m: torch.Tensor) -> torch.Tensor:
        p, q, r = m
        self.named.update(p=p, q=q, r=r)
        total: torch.Tensor = (p * r).sum()
        return total

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"m": torch.tensor([[5.0, 5.0], [7.0, 7.0], [2.0, 2.0]], dtype=dtype, requires_grad=True)}


class SliceChain(Expression):
    """Multi-dimensional indexing: one Select or Slice node per index."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        element, column, last = x[1, 2], x[1:3, 0], x[..., -1]
        self.named.update(element=element, column=column, last=last)
        return element + column.sum() + last.sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"x": torch.arange(12, dtype=dtype).reshape(3, 4).requires_grad_()}


class CatList(Expression):
    """torch.cat with the same leaf twice and a constant between: four slots, one of them empty."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, constant: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        joined = torch.cat([a, constant, b, a])
        self.named.update(joined=joined)
        return (joined * weights).sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {
            "a": torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True),
            "b": torch.tensor([3.0], dtype=dtype, requires_grad=True),
            "constant": torch.zeros(2, dtype=dtype),
            "weights": torch.arange(1, 8, dtype=dtype),
        }


class ViewWrite(Expression):
    """Writing into a row of y: the history of y becomes CopySlices."""

    def forward(self, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[0] = v
        self.named.update(y=y)
        return (y * y).sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {
            "x": torch.arange(6, dtype=dtype).reshape(3, 2).requires_grad_(),
            "v": torch.tensor([10.0, 20.0], dtype=dtype, requires_grad=True),
        }


class ToDouble(Expression):
    """x.double() is a new tensor, not a leaf: the gradient arrives at x, and x_double.grad stays None."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x_double = x.double()
        self.named.update(x_double=x_double)
        return (x_double**2).sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"x": torch.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)}


class WhereSqrt(Expression):
    """torch.where hides a NaN in the forward, but 0 * inf brings it back in the backward."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        root = x.sqrt()
        self.named.update(root=root)
        return torch.where(x > 0, root, x).sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"x": torch.tensor([-1.0, 0.0, 4.0], dtype=dtype, requires_grad=True)}


class ComplexAbs2(Expression):
    """|z|^2 with a conjugate view; z.grad is the conjugate Wirtinger derivative, 2 z."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return (z * z.conj()).real.sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"z": torch.tensor([3.0 + 4.0j, 1.0 - 2.0j], dtype=dtype.to_complex(), requires_grad=True)}


class StraightThrough(torch.autograd.Function):
    """sign(x) forward; the gradient passes unchanged where |x| <= 1."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        x: torch.Tensor = ctx.saved_tensors[0]
        return grad * (x.abs() <= 1)


class CustomFunction(Expression):
    """A torch.autograd.Function becomes a node named after the class."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = StraightThrough.apply(x)  # type: ignore[no-untyped-call]
        self.named.update(y=y)
        return y.sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"x": torch.tensor([-2.0, -0.5, 0.5, 2.0], dtype=dtype, requires_grad=True)}


class GradOfGrad(Expression):
    """The gradient of x ** 4 is itself a graph when create_graph=True."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = (x**4).sum()
        (gradient,) = torch.autograd.grad(y, x, create_graph=True)
        self.named.update(y=y, gradient=gradient)
        return gradient.sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"x": torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)}


class InPlaceAfterSave(Expression):
    """sigmoid saves its result; add_ then changes it, so backward refuses: version 1, expected 0."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.sigmoid()
        y.add_(1)
        self.named.update(y=y)
        return y.sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {"x": torch.tensor([-1.0, 0.0, 1.0], dtype=dtype, requires_grad=True)}


class InferenceLeaf(Expression):
    """w made under inference_mode cannot be saved for the backward of x * w."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x * w).sum()

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        with torch.inference_mode():
            w = torch.tensor([4.0, 5.0, 6.0], dtype=dtype)
        return {"x": torch.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True), "w": w}


class PythonLoop(Expression):
    """Element by element: four nodes per element where one dot product would have been enough."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        total = torch.zeros((), dtype=x.dtype, device=x.device)
        for i in range(len(x)):
            total = total + x[i] * w[i]
        return total

    def example_leaves(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {
            "x": torch.arange(1, 9, dtype=dtype).requires_grad_(),
            "w": torch.arange(8, 0, -1, dtype=dtype).requires_grad_(),
        }
