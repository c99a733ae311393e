from functools import partial
from math import inf
from typing import Any

import torch
from torch import Tensor

from engine.operators import clipped_sigmoid
from tests.operators.case import Case


class HandWritten(torch.autograd.Function):
    """The definition, in PyTorch's own operations."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, beta: float, clip: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.beta, ctx.clip = beta, clip
        return torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.beta * x)
        rest = torch.sigmoid(-ctx.beta * x)  # 1 - s without its cancellation
        return grad * torch.clamp(ctx.beta * s * rest, -ctx.clip, ctx.clip), None, None


def case(label: str, beta: float, clip: float, **facts: Any) -> Case:
    return Case(
        operator="clipped_sigmoid",
        label=label,
        call=partial(clipped_sigmoid, beta=beta, clip=clip),
        reference=lambda x: HandWritten.apply(x, beta, clip),
        inputs=lambda make: (make(5, 37),),
        elementwise=True,
        vmap=True,
        **facts,
    )


CASES = (
    case("never clipped", 0.3, 0.1),
    case("clip inf", 2.0, inf),
    case("clipped", 1.0, 0.1, true_derivative=False),
    case("clipped below", -1.0, 0.1, true_derivative=False),
)
