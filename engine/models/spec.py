"""ModelSpec: the one description of "what am I looking at", without torch."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.models.applicability import check_toggles, settle, toggle_reasons
from engine.models.architecture import (
    EXPRESSIONS,
    AnyArchitecture,
    Architecture,
    Chain,
    ConvNet,
    DynamicBlock,
    Embedding,
    Expression,
    ExpressionName,
    Gpt,
    LinearStack,
    Mlp,
    Recurrent,
    ResNet,
    TiedLoop,
    TwoTower,
)
from engine.models.shape import block_count, describe, parameter_groups
from engine.runner.contract import check_ranges

__all__ = [
    "EXPRESSIONS",
    "AnyArchitecture",
    "Architecture",
    "Chain",
    "ConvNet",
    "DynamicBlock",
    "Embedding",
    "Expression",
    "ExpressionName",
    "Gpt",
    "LinearStack",
    "Mlp",
    "ModelSpec",
    "Recurrent",
    "ResNet",
    "TiedLoop",
    "TwoTower",
    "block_count",
    "describe",
    "parameter_groups",
    "settle",
    "toggle_reasons",
]


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An architecture and how its one forward is run: every toggle PyTorch gives."""

    architecture: AnyArchitecture = Mlp()
    batch: Annotated[int, Meta(ge=1, le=4096)] = 4
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    memory_format: Literal["contiguous", "channels_last"] = "contiguous"
    train: bool = True
    input_requires_grad: bool = False
    frozen: tuple[str, ...] = ()
    checkpoint: Literal["off", "every_k", "segments", "each_block"] = "off"
    checkpoint_k: Annotated[int, Meta(ge=1, le=500)] = 5
    checkpoint_segments: Annotated[int, Meta(ge=1, le=500)] = 2
    use_reentrant: bool = False
    preserve_rng_state: bool = True
    autocast: Literal["off", "bfloat16", "float16"] = "off"
    grad_mode: Literal["grad", "no_grad", "inference_mode", "detach"] = "grad"
    grad_mode_block: Annotated[
        int, Meta(ge=-1, le=1000, description="block it applies to; -1 is the whole forward")
    ] = -1
    loss: Literal["sum", "mean", "cross_entropy"] = "sum"

    def __post_init__(self) -> None:
        check_ranges(self)
        check_toggles(self)
