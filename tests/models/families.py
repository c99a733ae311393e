"""One small ModelSpec per architecture, for tests that must hold for the whole family."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args, get_type_hints

import pytest

from engine.models.spec import (
    EXPRESSIONS,
    AnyArchitecture,
    Chain,
    ConvNet,
    DynamicBlock,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    Recurrent,
    ResNet,
    TiedLoop,
    TwoTower,
    block_count,
)

CONV_BLOCKS = get_args(get_type_hints(ConvNet)["block"])
CELLS = ("lstm", "gru", "rnn", "hand_written_rnn", "hand_written_lstm")
NETWORKS: tuple[AnyArchitecture, ...] = (
    Mlp(),
    Mlp(layers=5, depth=2, width=8),
    Mlp(layers=4, depth=4, width=8, residual=False, dropout=0.5),
    Mlp(layers=1, depth=1, width=8, in_features=8),
    DynamicBlock(width=8),
    DynamicBlock(width=8, use_skip=False),
    LinearStack(layers=7, width=16),
    ResNet(image_size=32, classes=10),
    *(ConvNet(block=block, layers=2, channels=8, image_size=8, classes=5) for block in CONV_BLOCKS[:3]),
    ConvNet(block="attention", layers=2, channels=8, image_size=8, classes=5),
    Gpt(layers=3, heads=2, width=16, sequence=8, vocabulary=50),
    Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50, attention="explicit", tie_weights=False),
    Gpt(layers=3, heads=2, width=16, sequence=8, vocabulary=50, dropout=0.3),
    *(Recurrent(cell=cell, steps=5, width=8, layers=2) for cell in CELLS),
    Recurrent(cell="lstm", steps=5, width=8, fused=True),
    TiedLoop(steps=4, width=8),
    *(Chain(operations=11, width=8, function=function) for function in ("sin", "mixed")),
    Embedding(vocabulary=20, width=8, tokens=6),
    Embedding(vocabulary=20, width=8, tokens=6, sparse=True),
    TwoTower(width=8),
    TwoTower(width=8, use_auxiliary_loss=True),
)
WITH_BLOCKS = tuple(a for a in NETWORKS if block_count(a))
RAISING = ("in_place_after_save", "inference_leaf")
SOUND_EXPRESSIONS: tuple[AnyArchitecture, ...] = tuple(
    Expression(name=name)  # type: ignore[arg-type]
    for name in EXPRESSIONS
    if name not in RAISING
)


def one_of_each_class(architectures: Iterable[AnyArchitecture]) -> list[object]:
    """Parameters of a test: the first of every class always, those after it where slow tests run."""
    met: set[type] = set()
    found = []
    for one in architectures:
        found.append(pytest.param(one, marks=pytest.mark.slow) if type(one) in met else one)
        met.add(type(one))
    return found


def label(value: object) -> str:
    """A test id: the class and the fields that differ from its defaults."""
    plain = type(value)()
    names = value.__struct_fields__  # type: ignore[attr-defined]
    differing = [f"{name}={getattr(value, name)}" for name in names if getattr(value, name) != getattr(plain, name)]
    return f"{type(value).__name__}({', '.join(differing)})"
