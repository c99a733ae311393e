from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.operators import bias_gelu_dropout_residual
from engine.operators.philox import dropout_scales
from tests.operators.case import Case

SEED = 0x1234_5678_9ABC_DEF0


def composed(p: float) -> Callable[..., Tensor]:
    def call(x: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        scales = dropout_scales(x, p, torch.tensor(SEED))
        return residual + F.gelu(x + bias, approximate="tanh") * scales

    return call


def case(label: str, p: float, shape: tuple[int, ...], bias: tuple[int, ...], relative: float = 4.0) -> Case:
    return Case(
        operator="bias_gelu_dropout_residual",
        label=label,
        call=lambda x, bias, residual: bias_gelu_dropout_residual(x, bias, residual, p, seed=SEED),
        reference=composed(p),
        inputs=lambda make: (make(*shape), make(*bias), make(*shape)),
        differentiable=(0, 1, 2),
        relative=relative,
        vmap=True,
    )


CASES = (
    case("rows", 0.3, (3, 2, 19), (19,)),
    case("p 0", 0.0, (6, 5), (5,), relative=8.0),
    case("p 1", 1.0, (6, 5), (5,)),
    case("one bias", 0.5, (7, 9), (1,), relative=64.0),  # its gradient is a sum of 63 that nearly cancel
    case("bias without dimensions", 0.5, (7, 9), (), relative=64.0),
)
