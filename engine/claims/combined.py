"""A small transformer on a task it can learn, trained as it stands, with each remedy of the article, and with all."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from engine.claims.counting import Pairs, live_bytes

CLASSES, LENGTH, FEATURES = 8, 32, 16
NOISE = 0.6
EVALUATED = 512
RECIPES: dict[str, tuple[str, ...]] = {
    "as it stands": (),
    "fused optimizer": ("fused optimizer",),
    "autocast": ("autocast",),
    "checkpoints": ("checkpoints",),
    "all together": ("fused optimizer", "autocast", "checkpoints"),
}
TRAINED = ("as it stands", "all together")


class Classifier(nn.Module):
    """Transformer blocks over a noisy sequence, the mean of the last one classified."""

    def __init__(self, width: int, layers: int, checkpoints: bool) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(FEATURES, width), nn.Linear(width, CLASSES)
        self.blocks = nn.ModuleList(
            [
                nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
                for _ in range(layers)
            ]
        )
        self.checkpoints = checkpoints

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoints and self.training else block(x)
        logits: torch.Tensor = self.head(x.mean(1))
        return logits


class Training:
    """One run with some of the remedies: its model, its data, and a step; every run draws the same data."""

    def __init__(self, width: int, layers: int, batch: int, remedies: tuple[str, ...]) -> None:
        torch.manual_seed(0)
        self.generator = torch.Generator().manual_seed(1)
        self.patterns = torch.randn(CLASSES, LENGTH, FEATURES)
        self.batch, self.autocast = batch, "autocast" in remedies
        self.model = Classifier(width, layers, "checkpoints" in remedies)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-4, fused="fused optimizer" in remedies)

    def draw(self, many: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Patterns under noise, and which they are."""
        y = torch.randint(CLASSES, (many,), generator=self.generator)
        return self.patterns[y] + NOISE * torch.randn(many, LENGTH, FEATURES, generator=self.generator), y

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        # Inside another autocast context cached casts of the weights would outlive the step; each is cast once anyway.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.autocast, cache_enabled=False):
            found: torch.Tensor = self.model(x)
            return found.float()

    def step(self) -> None:
        x, y = self.draw(self.batch)
        self.optimizer.zero_grad()
        functional.cross_entropy(self.logits(x), y).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    def accuracy(self) -> float:
        """On fresh data, in inference mode."""
        self.model.eval()
        with torch.inference_mode():
            x, y = self.draw(EVALUATED)
            found = (self.logits(x).argmax(1) == y).double().mean().item()
        self.model.train()
        return found


def begun(width: int, layers: int, batch: int) -> dict[str, Training]:
    """Every run after one step, which makes the optimizer's state."""
    runs = {name: Training(width, layers, batch, remedies) for name, remedies in RECIPES.items()}
    for run in runs.values():
        run.step()
    return runs


def counts(width: int, layers: int, steps: int, batch: int) -> dict[str, float]:
    """Accuracy of both trained runs, the most bytes that a step of each makes at once, and what stays beside them."""
    runs = begun(width, layers, batch)
    for name in TRAINED:
        for _ in range(steps - 1):
            runs[name].step()
    peaks = {name: live_bytes(run.step).peak_bytes for name, run in runs.items()}
    kept = sum(3 * parameter.nbytes for parameter in runs["all together"].model.parameters())
    return {
        **{f"accuracy share {name}": runs[name].accuracy() for name in TRAINED},
        **{f"peak bytes of a step, {name}": peak for name, peak in peaks.items()},
        "parameters and Adam state bytes": kept,
        "saved share of a step's peak": 1 - peaks["all together"] / peaks["as it stands"],
        "saved share of everything": 1 - (peaks["all together"] + kept) / (peaks["as it stands"] + kept),
    }


def pairs(width: int, layers: int, batch: int) -> Pairs:
    """A training step of every run."""
    return {"training step": {name: run.step for name, run in begun(width, layers, batch).items()}}
