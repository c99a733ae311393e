"""Why a node passed on nothing but zeros, by the kind of operation."""

from __future__ import annotations

import re

_REASONS: tuple[tuple[str, str], ...] = (
    ("Relu|Threshold", "its input is 0 or below for every element that matters: a closed ReLU has slope 0"),
    ("LeakyRelu|Elu|Gelu|Silu|Softplus", "the slope underflows to 0 at these inputs"),
    ("Sigmoid|Tanh|Softmax", "it is saturated: the slope rounds to 0 at these outputs"),
    ("Clamp|Hardtanh", "its input lies outside of the bounds, where the slope is 0"),
    ("Round|Floor|Ceil|Trunc|Sign|Heaviside", "a step function: its slope is 0 everywhere, by definition"),
    ("NativeDropout|MaskedFill|Where", "the mask chose other elements"),
    ("Mul|Mm|Addmm|Bmm|Baddbmm|Linear|Convolution|Dot|Mv|Einsum", "the other factor is all zeros"),
    ("Pow", "the slope of this power is 0 here"),
    ("NativeBatchNorm|NativeLayerNorm|NativeGroupNorm", "normalising takes out what is the same in every sample"),
    ("MaxPool|Max|Min|Index|Select|Slice|Gather", "it passes a gradient to the chosen elements only"),
    ("Abs|Norm", "its slope at 0 is taken as 0"),
    ("Sub|Add", "what arrives cancels out"),
    ("Embedding", "none of its rows were looked up"),
)


def why_zero(node_name: str) -> str:
    """The reason in words; `node_name` as in `AddmmBackward0`."""
    for kinds, reason in _REASONS:
        if re.match(rf"(?:{kinds})\w*Backward", node_name):
            return reason
    return "its derivative is 0 at this point"
