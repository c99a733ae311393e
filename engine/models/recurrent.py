"""Recurrent layers unrolled over time: torch's own, and two cells written out by hand."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn


@contextmanager
def unrolled() -> Iterator[None]:
    """Without oneDNN and cuDNN, which run a whole recurrent layer as one autograd node; process-wide while inside."""
    backends: tuple[Any, ...] = (torch.backends.mkldnn, torch.backends.cudnn)
    before = [backend.enabled for backend in backends]
    try:
        for backend in backends:
            backend.enabled = False
        yield
    finally:
        for backend, enabled in zip(backends, before, strict=True):
            backend.enabled = enabled


class TorchLayer(nn.Module):
    """One layer of nn.RNN, nn.GRU or nn.LSTM that returns the whole output sequence."""

    def __init__(self, cell: str, width: int, fused: bool) -> None:
        super().__init__()
        layer = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell]
        self.recurrent = layer(width, width, batch_first=True)
        self.fused = fused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with nullcontext() if self.fused else unrolled():
            sequence: torch.Tensor = self.recurrent(x)[0]  # (N, T, width) -> (N, T, width)
        return sequence


class RnnByHand(nn.Module):
    """h_t = tanh(W x_t + U h_{t-1}), one step of the loop per time step."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_input = nn.Linear(width, width)
        self.from_state = nn.Linear(width, width)
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = x.new_zeros(x.shape[0], self.width)
        states = []
        for x_t in x.unbind(dim=1):  # T times (N, width)
            state = torch.tanh(self.from_input(x_t) + self.from_state(state))
            states.append(state)
        return torch.stack(states, dim=1)  # (N, T, width)


class LstmByHand(nn.Module):
    """The four gates of an LSTM cell (Hochreiter and Schmidhuber 1997, with a forget gate), one step at a time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_input = nn.Linear(width, 4 * width)
        self.from_state = nn.Linear(width, 4 * width)
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = x.new_zeros(x.shape[0], self.width)
        cell = torch.zeros_like(hidden)
        states = []
        for x_t in x.unbind(dim=1):  # T times (N, width)
            gates = self.from_input(x_t) + self.from_state(hidden)  # (N, 4 width)
            let_in, forget, candidate, let_out = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(let_in) * torch.tanh(candidate)
            hidden = torch.sigmoid(let_out) * torch.tanh(cell)
            states.append(hidden)
        return torch.stack(states, dim=1)  # (N, T, width)


class Recurrent(nn.Module):
    """`layers` recurrent layers over `steps` time steps, and a linear head on the last step."""

    def __init__(self, cell: str, steps: int, width: int, layers: int, fused: bool, classes: int = 10) -> None:
        super().__init__()
        by_hand = {"hand_written_rnn": RnnByHand, "hand_written_lstm": LstmByHand}
        self.blocks = nn.ModuleList(
            by_hand[cell](width) if cell in by_hand else TorchLayer(cell, width, fused) for _ in range(layers)
        )
        self.head = nn.Linear(width, classes)
        self.steps = steps
        self.width = width

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sequence = self.run_blocks(x)  # (N, T, width)
        logits: torch.Tensor = self.head(sequence[:, -1])  # -> (N, width) -> (N, classes)
        return logits

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"x": torch.randn(batch, self.steps, self.width)}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.head.out_features, (batch,))
