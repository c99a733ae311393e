import torch

from engine.operators import weighted_row_sum
from tests.operators.case import Case

CASES = (
    Case(
        operator="weighted_row_sum",
        call=weighted_row_sum,
        reference=torch.mv,
        inputs=lambda make: (make(7, 37), make(37)),
        differentiable=(0, 1),
        vmap=True,
    ),
)
