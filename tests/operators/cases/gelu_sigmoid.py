from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.operators import gelu_sigmoid
from tests.operators.case import Case


class HandWritten(torch.autograd.Function):
    """The definition, in PyTorch's own operations."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return F.gelu(x, approximate="tanh")

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(1.702 * x)
        return grad * (s + x * s * (1 - s) * 1.702)


CASES = (
    Case(
        operator="gelu_sigmoid",
        call=gelu_sigmoid,
        reference=HandWritten.apply,
        inputs=lambda make: (make(5, 37),),
        true_derivative=False,
        elementwise=True,
        vmap=True,
    ),
)
