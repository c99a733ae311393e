"""Checkpointing policies on the shapes that claims about them name: bytes held, peaks, recomputation, time of a step.

Targets are what was found before for the same claims; bytes are exact, ratios of time are of interleaved rounds.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from benchmarks.row import Row
from engine.checkpointing.outcome import Bench
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import Outcome, PolicyTimingSpec
from engine.checkpointing.standard import ARTICLE_K, square_root_groups, square_root_segments
from engine.checkpointing.timing import time_policies, time_steps
from engine.models.build import Built, build
from engine.models.spec import Gpt, LinearStack, ModelSpec, ResNet
from engine.timing.comparison import Comparison

ARTICLE, EACH, ROOT = Policy(kind="every_k", k=ARTICLE_K), Policy(kind="each_block"), square_root_segments(50)
ROOT_GROUPS = square_root_groups(50)
ROUNDS = 5
SHAPES = (
    ("50 x Linear(1024) + ReLU", ModelSpec(architecture=LinearStack(layers=50, width=1024), batch=64)),
    ("GPT-2 shape", ModelSpec(architecture=Gpt(layers=12, heads=12, width=96, sequence=64), batch=4)),
    ("ResNet-50 shape", ModelSpec(architecture=ResNet(variant="resnet50", image_size=64), batch=4)),
)


class Stack(nn.Module):
    """Blocks of one kind, each (N, width) -> (N, width)."""

    def __init__(self, count: int, block: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(block() for _ in range(count))

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run_blocks(x)


def narrow_block() -> nn.Module:
    """Four tensors of the block's size are kept."""
    return nn.Sequential(nn.LayerNorm(1024), nn.Linear(1024, 1024), nn.GELU(), nn.Dropout(0.1))


def wide_block() -> nn.Module:
    """Ten tensors of the block's size are kept: its input, the norm's result, twice four times as wide."""
    return nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256))


def measure() -> list[Row]:
    rows = [row for name, model in SHAPES for row in _shape(name, model)]
    return [*rows, *_narrow(), *_wide()]


def _shape(name: str, model: ModelSpec) -> list[Row]:
    root = square_root_segments(len(list(build(model).model.blocks)))  # type: ignore[arg-type]
    groups = square_root_groups(len(list(build(model).model.blocks)))  # type: ignore[arg-type]
    policies = (Policy(), ARTICLE, root, groups, EACH)
    bench = Bench(build(model))
    off, *others = map(bench.outcome, policies)
    times = time_policies(PolicyTimingSpec(model=model, policies=policies, rounds=ROUNDS), lambda *_: None).comparison
    target = 0.0 if isinstance(model.architecture, LinearStack) else None
    rows = [_saved(name, off, others[0], times, target)]
    return rows + [_saved(name, off, other, times) for other in others[1:]]


def _saved(name: str, off: Outcome, other: Outcome, times: Comparison | None, target: float | None = None) -> Row:
    """Share of held bytes that a policy saves; peaks, recomputation and time beside it."""
    assert off.held_bytes
    assert other.held_bytes is not None
    label = label_of(other.policy)
    again = other.recomputed_flops / off.forward_flops
    detail = (
        f"held {off.held_bytes / 1e6:.1f} -> {other.held_bytes / 1e6:.1f} MB, peak {_mb(off)} -> {_mb(other)} MB, "
        f"{again:.0%} of the forward's FLOPs again, gradients {'identical' if other.gradients_identical else 'DIFFER'}"
    )
    if times is not None:
        ratio = next(ratio for ratio in times.ratios if ratio.name == label)
        detail += f", time {ratio.ratio:.2f}x ({ratio.low:.2f} to {ratio.high:.2f})"
    return Row(f"{name}, {label}: held bytes saved", 100 * (1 - other.held_bytes / off.held_bytes), target, "%", detail)


def _mb(outcome: Outcome) -> str:
    return f"{(outcome.peak_bytes or 0) / 1e6:.1f}"


def _narrow() -> list[Row]:
    built = _built(50, narrow_block, 64, 1024)
    bench = Bench(built)
    policies = (Policy(), ARTICLE, ROOT, ROOT_GROUPS)
    off, *others = map(bench.outcome, policies)
    times = time_steps(built, policies, ROUNDS)
    name = "50 x LN + Linear + GELU + dropout"
    return [_saved(name, off, other, times) for other in others]


def _wide() -> list[Row]:
    built = _built(8, wide_block, 2048, 256)
    bench = Bench(built)
    off, each = map(bench.outcome, (Policy(), EACH))
    own = built.inputs["x"].nbytes  # in no figure of an Outcome, and kept by the first block all the same
    held, peak = ((each.held_bytes or 0) + own) / 1e6, (each.peak_bytes or 0) / 1e6
    off_held = f"off {((off.held_bytes or 0) + own) / 1e6:.1f} MB, the model's own input among both"
    return [
        _saved("8 wide blocks", off, each, time_steps(built, (Policy(), EACH), ROUNDS)),
        Row("8 wide blocks, each block: held", held, 16.8, "MB", off_held),
        Row("8 wide blocks, each block: peak", peak, None, "MB", f"off {_mb(off)} MB"),
    ]


def _built(count: int, block: Callable[[], nn.Module], batch: int, width: int) -> Built:
    torch.manual_seed(0)
    return Built(ModelSpec(architecture=LinearStack()), Stack(count, block), {"x": torch.randn(batch, width)})
