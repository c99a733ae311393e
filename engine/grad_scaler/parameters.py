"""Names of a model's parameters, worked out without torch, so that a wrong one is refused before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from engine.models.architecture import AnyArchitecture, ConvNet, Embedding, Gpt, Mlp, Recurrent
from engine.models.spec import ModelSpec

_GPT_BLOCK = ("attention_norm", "attention.query_key_value", "attention.project", "mlp_norm", "mlp.0", "mlp.2")
_LSTM = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def parameter_names(model: ModelSpec | None, optimizers: int) -> tuple[str, ...] | None:
    """Of the one weight and of the families that are trained here; None where only building the model tells."""
    if model is None:
        return ("w", "v")[:optimizers]
    return None if model.frozen else _names(model.architecture)


def _names(architecture: AnyArchitecture) -> tuple[str, ...] | None:
    match architecture:
        case Mlp(layers=layers):
            return _affine([*(f"layers.{i}.linear" for i in range(layers)), "head"])
        case Gpt(layers=layers, tie_weights=tied):
            blocks = _affine([f"blocks.{i}.{part}" for i in range(layers) for part in _GPT_BLOCK])
            head = () if tied else ("head.weight",)
            return ("tokens.weight", "positions.weight", *blocks, *_affine(["norm"]), *head)
        case ConvNet(block="conv_bn_relu", layers=layers):
            blocks = _affine([f"blocks.{i}.{part}" for i in range(layers) for part in ("conv", "norm")])
            return ("stem.weight", *_affine(["norm"]), *blocks, *_affine(["head"]))
        case Recurrent(cell="lstm", layers=layers):
            return (*(f"blocks.{i}.recurrent.{one}" for i in range(layers) for one in _LSTM), *_affine(["head"]))
        case Embedding():
            return ("table.weight", *_affine(["head"]))
        case _:
            return None


def _affine(modules: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{path}.{name}" for path in modules for name in ("weight", "bias"))
