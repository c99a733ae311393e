"""A small transformer on a task it can learn, trained as it stands, with each remedy, and with them together."""

from __future__ import annotations

import torch
from torch.nn import functional

from engine.claims.combined_model import CLASSES, FEATURES, LENGTH, Classifier, CompiledAdamW
from engine.claims.counting import Pairs, live_bytes
from engine.operators import cross_entropy
from engine.operators.load import load

NOISE = 0.6
EVALUATED = 512
LEARNING_RATE = 5e-4
BASELINE = "as it stands"
RECIPES: dict[str, tuple[str, ...]] = {
    BASELINE: (),
    "fused optimizer": ("fused optimizer",),
    "autocast": ("autocast",),
    "checkpoints": ("checkpoints",),
    "compiled operators": ("compiled operators",),
    "AMP and checkpoints": ("fused optimizer", "autocast", "checkpoints"),
    "compiled and checkpoints": ("compiled operators", "checkpoints"),
}
TRAINED = ("AMP and checkpoints", "compiled and checkpoints")


class Training:
    """One run with some of the remedies: its model, its data, and a step; every run draws the same data."""

    def __init__(self, width: int, layers: int, batch: int, remedies: tuple[str, ...]) -> None:
        torch.manual_seed(0)
        self.generator = torch.Generator().manual_seed(1)
        self.patterns = torch.randn(CLASSES, LENGTH, FEATURES)
        self.batch, self.autocast, compiled = batch, "autocast" in remedies, "compiled operators" in remedies
        self.model = Classifier(width, layers, "checkpoints" in remedies, compiled)
        self.loss = cross_entropy if compiled else functional.cross_entropy
        parameters = list(self.model.parameters())
        self.optimizer: torch.optim.AdamW | CompiledAdamW = (
            CompiledAdamW(parameters, LEARNING_RATE)
            if compiled
            else torch.optim.AdamW(parameters, lr=LEARNING_RATE, fused="fused optimizer" in remedies)
        )

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
        self.loss(self.logits(x), y).backward()
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
    """Every run that this machine has compiled operators for, after one step, which makes the optimizer's state."""
    offered = {name: used for name, used in RECIPES.items() if load().compiled or "compiled operators" not in used}
    runs = {name: Training(width, layers, batch, remedies) for name, remedies in offered.items()}
    for run in runs.values():
        run.step()
    return runs


def counts(width: int, layers: int, steps: int, batch: int) -> dict[str, float]:
    """Accuracy of the trained runs, the most bytes that a step of each makes at once, and what stays beside them."""
    runs = begun(width, layers, batch)
    trained = [name for name in (BASELINE, *TRAINED) if name in runs]
    for name in trained:
        for _ in range(steps - 1):
            runs[name].step()
    peaks = {name: live_bytes(run.step).peak_bytes for name, run in runs.items()}
    kept = sum(3 * parameter.nbytes for parameter in runs[BASELINE].model.parameters())
    accuracies = {name: runs[name].accuracy() for name in trained}
    found: dict[str, float] = {f"accuracy share {name}": accuracy for name, accuracy in accuracies.items()}
    found |= {f"peak bytes of a step, {name}": peak for name, peak in peaks.items()}
    found["parameters and Adam state bytes"] = kept
    for name in trained[1:]:
        found[f"accuracy share kept, {name}"] = accuracies[name] / max(accuracies[BASELINE], 1 / EVALUATED)
        found[f"saved share of a step's peak, {name}"] = 1 - peaks[name] / peaks[BASELINE]
        found[f"saved share of everything, {name}"] = 1 - (peaks[name] + kept) / (peaks[BASELINE] + kept)
    return found


def pairs(width: int, layers: int, batch: int) -> Pairs:
    """A training step of every run."""
    return {"training step": {name: run.step for name, run in begun(width, layers, batch).items()}}


def notes() -> tuple[str, ...]:
    """Why the recipe with compiled operators is missing, where it is."""
    if load().compiled:
        return ()
    return (f"Recipes with compiled operators were left out: {load().reason}. Run again once they are built.",)
