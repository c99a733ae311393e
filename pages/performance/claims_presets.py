"""Questions of the claims board."""

from __future__ import annotations

from typing import Any

from engine.claims.catalogue import BY_KEY
from pages.performance.claims_controls import CLAIM, ONE, SHOW
from pages.shared.presets import Preset


def _asks(question: str, prediction: str, notice: str, key: str, **sizes: Any) -> Preset:
    settings = {SHOW: ONE, CLAIM: BY_KEY[key].title} | {f"claims.{key}.{name}": size for name, size in sizes.items()}
    return Preset(question, prediction, notice, settings=settings)


PRESETS = (
    _asks(
        "Is a non-contiguous operand 15-30 % slower?",
        "Five operations on a transposed matrix. Predict which cost nothing, and which more than 30 %.",
        "No single figure holds: a matrix product does not care, adding two layouts costs a multiple. The shaded range "
        "is the claim, the bar what was measured.",
        "operand_layout",
    ),
    _asks(
        "Does a checkpoint every fifth layer save memory?",
        "50 layers of Linear + ReLU, every fifth Linear checkpointed. Predict the share of held bytes that goes away.",
        "None at all, for more time. Blocks with several tensors inside give some, segments of several blocks most: "
        "read the shares in *Checks*. Press *Run* on the row: it takes a while, so it waits for you.",
        "checkpoint",
    ),
    _asks(
        "How much cheaper is a Hessian-vector product?",
        "1,072 parameters. The article says 90 % less memory and 3-5 times faster. Predict both.",
        "Both are exceeded, the time by far more than the claimed range: the Hessian grows with the square of the "
        "parameters, the product does not. See in *PyTorch's words* where the printed function fails.",
        "hessian_product",
        inputs=16,
        hidden=32,
    ),
    _asks(
        "Is the fused GELU faster, and is it GELU?",
        "Predict: is a scripted formula with a shortened backward faster than F.gelu, and by how much is its gradient "
        "off?",
        "It loses to F.gelu, which makes one pass, and gradcheck refuses its backward: it is the derivative of another "
        "function.",
        "scripted_gelu",
    ),
    _asks(
        "Does clipping inside a sigmoid tame gradients?",
        "beta = 2, the derivative clipped at 0.1. Predict the largest derivative without the clip, and the gradient of "
        "1000 y with it.",
        "beta / 4 = 0.5 without any clip. With it, 100: the incoming gradient is multiplied in afterwards.",
        "clipped_sigmoid",
        beta=2.0,
        clip=0.1,
    ),
    _asks(
        "When does bfloat16 autocast pay?",
        "The same training step, wide and small, in float32 and under autocast. Predict all four verdicts: time and "
        "held bytes.",
        "It depends on whether the processor multiplies bfloat16 in hardware and on how large the matrices are. Held "
        "bytes can grow: cast copies of the weights are kept until backward.",
        "autocast",
    ),
    _asks(
        "Up to which density is sparse better?",
        "CSR and COO from 0.1 % to 50 %. Predict where their bytes, and where their products, stop winning.",
        "Bytes turn where the formula says: 12 bytes an entry against 4, 20 for COO. Products turn elsewhere.",
        "sparse",
    ),
    _asks(
        "Does depth=2 run as printed?",
        "A forward that keeps a residual when depth allows it, called with depth=2. Predict the number of nodes.",
        "There is none: a name is read that no iteration has assigned. Repaired, the graph follows the depth: see the "
        "nodes of each in the row of numbers.",
        "depth",
    ),
    _asks(
        "40 % faster and 60 % less memory together?",
        "A small transformer by two recipes: autocast, or compiled operators, each with checkpoints. Predict which "
        "recipe satisfies which of the three.",
        "Memory and accuracy can be had; speed depends on what the processor does with bfloat16, and checkpoints cost "
        "it. Accuracy is compared with the baseline's. Every remedy is also timed alone: see *Times*.",
        "combined",
    ),
)
