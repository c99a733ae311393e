"""The CUDA kernels on the CPU where blocks and tiles end: one element, none, a tail, rows longer than a block."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from engine.operators import (
    adamw_step_,
    cross_entropy,
    geglu,
    gelu_tanh,
    gemm,
    layer_norm_residual,
    sgd_step_,
    weighted_row_sum,
)
from tests.operators import test_contract as contract
from tests.operators.case import Case
from tests.operators.cases import bias_gelu_dropout_residual as dropout
from tests.operators.cases import optimizers
from tests.operators.cases.geglu import composed
from tests.operators.cases.layer_norm_residual import with_sum
from tests.operators.host import cuda_kernels_on_the_host, load_operators

pytestmark = pytest.mark.slow

ELEMENTWISE = [(1,), (7,), (3, 1111), (2, 64, 33)]
MATRICES = [(1, 1, 1), (16, 16, 16), (17, 33, 5), (130, 9, 70), (3, 1, 200), (65, 40, 1)]
ROWS = [(1, 1), (1, 31), (5, 33), (3, 2500), (70, 7), (0, 9)]
ADAMW = {"step": 2, "lr": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.2}


def matrices(make, m, k, n):
    return make(m, k), make(k, n)


def logits(make, rows, classes):
    target = torch.arange(rows) * 7 % classes
    target[1::3] = -100
    return make(rows, classes), target


def summands(make, rows, columns):
    return make(rows, columns), make(rows, columns), make(columns), make(columns)


def many(make, count):
    """More tensors than one launch takes, one of them longer than a block's piece."""
    shapes = [(4100,), *[(3, i % 5) for i in range(70)]]
    return tuple(make(*shape).abs_() for _ in range(count) for shape in shapes)


def on_many(operator, count, *tensors, **settings):
    size = len(tensors) // count
    columns = [[tensor.clone() for tensor in tensors[i * size : (i + 1) * size]] for i in range(count)]
    operator(*columns, **settings)
    return tuple(torch.cat([tensor.flatten() for tensor in column]) for i, column in enumerate(columns) if i != 1)


def case(call, reference, inputs, label, *, relative=16.0, **more):
    """Sums of hundreds of terms that may cancel: more than one rounding."""
    name = getattr(call, "func", call).__name__
    return Case(operator=name, label=label, call=call, reference=reference, inputs=inputs, relative=relative, **more)


def optimizer(operator, reference, count, **settings):
    return case(
        partial(on_many, operator, count, **settings),
        partial(on_many, reference, count, **settings),
        partial(many, count=count),
        operator.__name__,
        differentiable=(),
    )


CASES = (
    *(
        case(gelu_tanh, partial(F.gelu, approximate="tanh"), lambda make, shape=shape: (make(*shape),), str(shape))
        for shape in ELEMENTWISE
    ),
    *(
        case(
            partial(gemm, kernel=kernel),
            torch.matmul,
            partial(matrices, m=m, k=k, n=n),
            f"{kernel}-{m}x{k}x{n}",
            differentiable=(0, 1),
        )
        for kernel in ("naive", "ikj", "tiled", "packed")
        for m, k, n in MATRICES
    ),
    *(
        case(
            partial(cross_entropy, reduction="none", label_smoothing=smoothing),
            partial(F.cross_entropy, reduction="none", label_smoothing=smoothing),
            partial(logits, rows=rows, classes=classes),
            f"{smoothing}-{rows}x{classes}",
            differentiable=(0,) if classes > 1 else (),  # of one class it is zero, and what remains is rounding
        )
        for smoothing in (0.0, 0.1)
        for rows, classes in ROWS
    ),
    *(
        case(
            layer_norm_residual,
            with_sum,
            partial(summands, rows=rows, columns=columns),
            f"{rows}x{columns}",
            differentiable=(0, 1, 2, 3),
        )
        for rows, columns in ROWS
        if columns > 1
    ),
    *(
        case(
            weighted_row_sum,
            torch.mv,
            lambda make, r=rows, c=columns: (make(r, c), make(c)),
            f"{rows}x{columns}",
            differentiable=(0, 1),
        )
        for rows, columns in ROWS
    ),
    *(
        case(geglu, composed, lambda make, shape=shape: (make(*shape),), str(shape))
        for shape in [(1, 2), (5, 14), (3, 2 * 520), (0, 6)]
    ),
    dropout.case("tail of a block of 64", 0.3, (3, 131), (131,), relative=16.0),
    dropout.case("many rows", 0.5, (300, 5), (5,), relative=16.0),
    dropout.case("one column, one bias", 0.5, (77, 1), (1,), relative=64.0),
    optimizer(sgd_step_, optimizers.sgd_in_pytorch, 3, lr=0.1, momentum=0.9, nesterov=True),
    optimizer(adamw_step_, optimizers.adamw_in_pytorch, 5, **ADAMW),
)
by_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture(autouse=True, scope="module")
def _built():
    load_operators()


@pytest.fixture(autouse=True)
def on_host():
    with cuda_kernels_on_the_host() as ran:
        yield
    assert ran


@by_case
def test_values(case: Case):
    contract.test_values_agree_with_pytorch_in_float64(case, "cpu")


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable], ids=str)
def test_gradients(case: Case):
    contract.test_gradients_agree_with_pytorch_in_float64(case, "cpu")


def test_dropout_keeps_what_the_cpu_keeps():
    x, zeros = torch.full((37, 41), 20.0), torch.zeros(37, 41)
    args = x, torch.zeros(41), zeros, 0.4, torch.tensor(0x1234_5678_9ABC_DEF0)
    on_the_launcher = torch.ops.atlas.bias_gelu_dropout_residual(*args)
    with torch.utils._python_dispatch._disable_current_modes():
        on_the_cpu = torch.ops.atlas.bias_gelu_dropout_residual(*args)
    assert 0.3 < (on_the_cpu == 0).double().mean() < 0.5
    assert torch.equal(on_the_launcher, on_the_cpu)
