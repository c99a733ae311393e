from functools import partial

import torch

from engine.operators import gemm
from tests.operators.case import Case

CASES = tuple(
    Case(
        operator="gemm",
        label=kernel,
        call=partial(gemm, kernel=kernel),
        reference=torch.matmul,
        inputs=lambda make: (make(5, 7), make(7, 3)),
        differentiable=(0, 1),
        vmap=True,
    )
    for kernel in ("naive", "ikj", "tiled", "packed", "matmul")
)
