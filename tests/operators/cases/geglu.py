import torch.nn.functional as F
from torch import Tensor

from engine.operators import geglu
from tests.operators.case import Case


def composed(x: Tensor) -> Tensor:
    value, gate = x.chunk(2, -1)
    return value * F.gelu(gate, approximate="tanh")


CASES = (
    Case(operator="geglu", call=geglu, reference=composed, inputs=lambda make: (make(3, 5, 38),), vmap=True),
    Case(operator="geglu", label="one row", call=geglu, reference=composed, inputs=lambda make: (make(6),), vmap=True),
)
