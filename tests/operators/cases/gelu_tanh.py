from functools import partial

import torch.nn.functional as F

from engine.operators import gelu_tanh
from tests.operators.case import Case

CASES = (
    Case(
        operator="gelu_tanh",
        call=gelu_tanh,
        reference=partial(F.gelu, approximate="tanh"),
        inputs=lambda make: (make(5, 37),),
        elementwise=True,
        vmap=True,
    ),
)
