"""How big a model will be, by closed formula and without torch."""

from __future__ import annotations

from engine.models.architecture import (
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
)
from engine.models.shape import STAGES

CLASSES = 10
"""Outputs of the heads whose size is not part of the architecture."""


def linear_size(in_features: int, out_features: int) -> int:
    """Parameters of nn.Linear with bias."""
    return in_features * out_features + out_features


def parameter_count(architecture: AnyArchitecture) -> int:
    """Parameters the built model has, a shared weight counted once."""
    match architecture:
        case Mlp(layers=layers, width=w, in_features=i, out_features=o):
            return linear_size(i, w) + (layers - 1) * linear_size(w, w) + linear_size(w, o)
        case DynamicBlock(width=w):
            return 2 * linear_size(w, w)
        case LinearStack(layers=layers, width=w):
            return layers * linear_size(w, w)
        case ResNet():
            return _resnet_size(architecture)
        case ConvNet(layers=layers, channels=c, classes=classes):
            return 27 * c + 2 * c + layers * _conv_block_size(architecture) + linear_size(c, classes)
        case Gpt(layers=layers, width=w, sequence=t, vocabulary=v, tie_weights=tied):
            # Per block: 2 norms 4w, query/key/value 3w^2 + 3w, projection w^2 + w, MLP 8w^2 + 5w.
            return v * w + t * w + layers * (12 * w * w + 13 * w) + 2 * w + (0 if tied else v * w)
        case Recurrent(cell=cell, width=w, layers=layers):
            gates = {"lstm": 4, "hand_written_lstm": 4, "gru": 3}.get(cell, 1)
            return layers * gates * 2 * linear_size(w, w) + linear_size(w, CLASSES)
        case TiedLoop(width=w) | Chain(width=w):
            return linear_size(w, w)
        case Embedding(vocabulary=v, width=w):
            return v * w + linear_size(w, CLASSES)
        case TwoTower(width=w):
            return 3 * linear_size(w, w) + linear_size(2 * w, w) + linear_size(w, CLASSES) + linear_size(w, 1)
        case Expression():
            return 0


def _resnet_size(architecture: ResNet) -> int:
    expansion = 1 if architecture.variant == "resnet18" else 4
    total, incoming = 3 * 64 * 49 + 2 * 64, 64
    for stage, count in enumerate(STAGES[architecture.variant]):
        channels = 64 << stage
        for _ in range(count):
            total += _residual_size(incoming, channels, expansion)
            incoming = channels * expansion
    return total + linear_size(incoming, architecture.classes)


def _residual_size(incoming: int, channels: int, expansion: int) -> int:
    """Convolutions, batch norms (2 per channel) and the 1 x 1 shortcut where the width changes or the size halves."""
    outgoing = channels * expansion
    if expansion == 1:
        inner = 9 * incoming * channels + 9 * channels * channels + 4 * channels
    else:
        inner = incoming * channels + 9 * channels * channels + channels * outgoing + 4 * channels + 2 * outgoing
    return inner + (incoming * outgoing + 2 * outgoing if incoming != outgoing else 0)


def _conv_block_size(architecture: ConvNet) -> int:
    """A 3 x 3 convolution with bias and what the kind of block adds."""
    c = architecture.channels
    if architecture.block == "convnext":  # depthwise 7 x 7, norm, C -> 2 C -> C
        return 50 * c + 2 * c + linear_size(c, 2 * c) + linear_size(2 * c, c)
    added = {
        "conv_bn_relu": 2 * c,
        "group_norm": 2 * c,
        "squeeze_excite": linear_size(c, c),
        "pixel_shuffle": linear_size(c, 4 * c),
        "attention": linear_size(c, 3 * c),
    }
    return 9 * c * c + c + added.get(architecture.block, 0)


def small_elements(architecture: AnyArchitecture) -> int | None:
    """An upper bound on the numbers one example makes in a forward; None where only a trial on meta can tell.

    Counted generously: a dense block makes at most six tensors of its width (linear, activation, dropout's noise and
    product, sum, input).
    """
    match architecture:
        case Mlp(depth=depth, width=w, in_features=i, out_features=o):
            return 6 * depth * max(w, i) + i + 4 * o
        case LinearStack(layers=steps, width=w) | TiedLoop(steps=steps, width=w):
            return 6 * (steps + 1) * w
        case Chain(operations=operations, width=w):
            return (operations + 2) * w
        case DynamicBlock(width=w) | TwoTower(width=w):
            return 6 * 4 * (w + CLASSES)
        case Embedding(width=w, tokens=tokens):
            return 2 * tokens * (w + 2) + 4 * (w + CLASSES)  # ids are int64: two float32 each
        case Expression():
            return 1024
        case _:
            return None
