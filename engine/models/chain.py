"""A long chain of elementwise functions: the deepest graph for its size."""

from itertools import cycle, islice

import torch
from torch import nn


class Chain(nn.Module):
    """A Linear, then `operations` elementwise functions one after the other; "mixed" takes the three in turn.

    Backward of sin keeps its input, of tanh its output, of neg nothing. All three leave the gradient finite and not 0.
    """

    def __init__(self, operations: int, function: str, width: int) -> None:
        super().__init__()
        functions = {"sin": torch.sin, "tanh": torch.tanh, "neg": torch.neg}
        self.start = nn.Linear(width, width)
        self.functions = list(functions.values()) if function == "mixed" else [functions[function]]
        self.operations = operations
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.start(x)
        for function in islice(cycle(self.functions), self.operations):
            x = function(x)  # (N, width), whichever it is
        return x

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"x": torch.randn(batch, self.width)}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.width, (batch,))
