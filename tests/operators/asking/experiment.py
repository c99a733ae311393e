"""What the worker finds when an operator is used in it."""

from __future__ import annotations

import torch

from engine.operators.load import is_loaded, load
from tests.operators.asking.spec import Answer


def ask_operators(spec, progress):
    before = is_loaded()
    from engine.operators import gelu_tanh

    values = gelu_tanh(torch.tensor([-1.0, 0.0, 1.0])).tolist()
    return Answer(loaded_before=before, compiled=load().compiled, reason=load().reason, values=tuple(values))
