from functools import partial

import torch.nn.functional as F

from engine.operators import layer_norm_residual
from tests.operators.case import Case


def with_sum(x, residual, weight, bias):
    summed = x + residual
    return F.layer_norm(summed, weight.shape, weight, bias), summed


def without_sum(x, residual, weight, bias):
    return with_sum(x, residual, weight, bias)[0]


def inputs(make):
    """19 columns: a register of 16 and a rest; few rows, as gradgradcheck goes through every element."""
    return make(2, 1, 19), make(2, 1, 19), make(19), make(19)


CASES = (
    Case(
        operator="layer_norm_residual",
        label="with sum",
        call=layer_norm_residual,
        reference=with_sum,
        inputs=inputs,
        differentiable=(0, 1, 2, 3),
        relative=8.0,
    ),
    Case(
        operator="layer_norm_residual",
        label="alone",
        call=partial(layer_norm_residual, return_sum=False),
        reference=without_sum,
        inputs=inputs,
        differentiable=(0, 1, 2, 3),
        relative=8.0,
        vmap=True,
    ),
)
