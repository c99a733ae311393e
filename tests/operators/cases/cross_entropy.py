from functools import partial

import torch
import torch.nn.functional as F

from engine.operators import cross_entropy
from tests.operators.case import Case

CLASSES = 37


def inputs(make):
    logits = make(6, CLASSES)
    return logits, torch.tensor([0, 36, -100, 7, 7, 21], device=logits.device)


CASES = tuple(
    Case(
        operator="cross_entropy",
        label=label,
        call=partial(cross_entropy, **options),
        reference=partial(F.cross_entropy, **options),
        inputs=inputs,
        vmap=True,
    )
    for label, options in (
        ("mean", {}),
        ("smoothed", {"label_smoothing": 0.1}),
        ("sum", {"label_smoothing": 1.0, "reduction": "sum"}),
        ("none", {"reduction": "none", "label_smoothing": 0.25}),
    )
)
