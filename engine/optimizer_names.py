"""The optimizers a training step may use, in torch's own words, without torch."""

from __future__ import annotations

from typing import Literal

OptimizerName = Literal["SGD", "SGD momentum", "Adam", "AdamW", "AdamW fused", "Adafactor"]

ARGUMENTS: dict[OptimizerName, tuple[str, dict[str, object]]] = {
    "SGD": ("SGD", {}),
    "SGD momentum": ("SGD", {"momentum": 0.9}),
    "Adam": ("Adam", {}),
    "AdamW": ("AdamW", {}),
    "AdamW fused": ("AdamW", {"fused": True}),
    "Adafactor": ("Adafactor", {}),
}
"""Class in torch.optim, and what it is called with beside the parameters and lr."""


def call_text(name: OptimizerName, parameters: str, lr: float) -> str:
    """The call as typed: `torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)`."""
    kind, arguments = ARGUMENTS[name]
    given = "".join(f", {key}={value}" for key, value in arguments.items())
    return f"torch.optim.{kind}({parameters}, lr={lr}{given})"
