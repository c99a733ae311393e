"""Which toggles mean something for a model, in words, without torch.

`refusals`: a value other than the default would be nonsense and is refused by ModelSpec.
`toggle_reasons`: those, and the controls that would merely change nothing; a page shows them disabled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.models.architecture import AnyArchitecture, Embedding, Expression, Gpt, Mlp, Recurrent, ResNet
from engine.models.shape import block_count, describe, has_batch_norm, has_dropout, has_images, parameter_groups

if TYPE_CHECKING:
    from engine.models.spec import ModelSpec

_BLOCK_TOGGLES = ("checkpoint", "checkpoint_k", "checkpoint_segments", "use_reentrant", "preserve_rng_state")


def refusals(architecture: AnyArchitecture) -> dict[str, str]:
    """Toggles of ModelSpec that cannot leave their default for `architecture`: field -> reason."""
    label, reasons = describe(architecture), {}
    if not has_images(architecture):
        reasons["memory_format"] = f"channels_last needs images (N, C, H, W); {label} has none"
    if not block_count(architecture):
        reasons |= dict.fromkeys(_BLOCK_TOGGLES, f"{label} has no sequence of blocks to checkpoint")
        reasons["grad_mode_block"] = f"{label} has no blocks; the gradient mode applies to the whole forward"
    if isinstance(architecture, Gpt | Embedding):
        reasons["input_requires_grad"] = f"the inputs of {label} are integer ids, and only floating point can"
    if isinstance(architecture, Expression):
        reasons["input_requires_grad"] = "the leaves of an expression require a gradient already"
        reasons["loss"] = "an expression is its own loss, a scalar"
        reasons["batch"] = "an expression has fixed small leaves"
        reasons["frozen"] = "an expression has no parameters"
    return reasons


def toggle_reasons(model: ModelSpec) -> dict[str, str]:
    """Controls that have no meaning or no effect for `model`: ModelSpec field -> why it is disabled."""
    reasons = {
        "checkpoint_k": "only for checkpoint every k",
        "checkpoint_segments": "only for checkpoint in segments",
        "use_reentrant": "checkpointing is off",
        "preserve_rng_state": "checkpointing is off",
    }
    reasons.pop({"every_k": "checkpoint_k", "segments": "checkpoint_segments"}.get(model.checkpoint, ""), None)
    if model.checkpoint != "off":
        del reasons["use_reentrant"], reasons["preserve_rng_state"]
        if not has_dropout(model.architecture):
            reasons["preserve_rng_state"] = "the model draws no random numbers"
    if model.grad_mode == "grad":
        reasons["grad_mode_block"] = "the gradient mode is on everywhere"
    if not has_dropout(model.architecture) and not has_batch_norm(model.architecture):
        reasons["train"] = "train and eval are the same here: no dropout, no batch norm"
    if model.dtype == "float64":
        reasons["autocast"] = "autocast leaves float64 alone"
    return reasons | refusals(model.architecture)


def check_toggles(model: ModelSpec) -> None:
    """Raise ValueError where the toggles of `model` do not fit its architecture: what, limit, received, remedy."""
    for name, reason in refusals(model.architecture).items():
        _refuse_unless_default(model, name, reason)
    if model.dtype == "float64" and model.autocast != "off":
        _refuse_unless_default(model, "autocast", "autocast leaves float64 alone")
    _check_frozen(model)
    _check_blocks(model)
    _check_dtype(model)
    _check_batch_norm(model)


def _refuse_unless_default(model: ModelSpec, name: str, reason: str) -> None:
    received, default = getattr(model, name), _defaults(model)[name]
    if received != default:
        raise ValueError(f"ModelSpec.{name}: {reason}; received {received!r}. Leave it at {default!r}.")


def _defaults(model: ModelSpec) -> Mapping[str, Any]:
    kind = type(model)
    return dict(zip(kind.__struct_fields__, kind.__struct_defaults__, strict=True))


def _check_frozen(model: ModelSpec) -> None:
    groups = parameter_groups(model.architecture)
    unknown = [name for name in model.frozen if name not in groups]
    if not unknown:
        return
    listed = ", ".join(groups[:12]) + (", ..." if len(groups) > 12 else "")
    tied = " (its head shares the weight of tokens)" if unknown[0] == "head" and "tokens" in groups else ""
    raise ValueError(
        f"ModelSpec.frozen names parameter groups of {describe(model.architecture)}; received {unknown[0]!r}, which "
        f"it does not have{tied}. Choose among {listed}."
    )


def _check_blocks(model: ModelSpec) -> None:
    blocks, label = block_count(model.architecture), describe(model.architecture)
    if model.grad_mode_block >= blocks:
        raise ValueError(
            f"ModelSpec.grad_mode_block must be below the number of blocks; {label} runs {blocks}, "
            f"received {model.grad_mode_block}. Choose 0 to {blocks - 1}, or -1 for the whole forward."
        )
    if model.checkpoint == "segments" and model.checkpoint_segments > blocks:
        raise ValueError(
            f"ModelSpec.checkpoint_segments must not exceed the number of blocks; {label} runs {blocks}, "
            f"received {model.checkpoint_segments}. Choose at most {blocks}."
        )


def _check_dtype(model: ModelSpec) -> None:
    complex_leaf = isinstance(model.architecture, Expression) and model.architecture.name == "complex_abs2"
    if complex_leaf and model.dtype == "bfloat16":
        raise ValueError("ModelSpec.dtype: torch has no bfloat16 complex; received 'bfloat16'. Use float32 or float64.")
    double = model.dtype == "float64" or (
        isinstance(model.architecture, Expression) and model.architecture.name == "to_double"
    )
    if model.device == "mps" and double:
        raise ValueError("ModelSpec.device: mps has no float64; received 'mps'. Use cpu, or float32.")


def _check_batch_norm(model: ModelSpec) -> None:
    a = model.architecture
    if isinstance(a, ResNet) and model.train and model.batch == 1 and a.image_size <= 32:
        raise ValueError(
            f"ModelSpec.batch: batch norm in train mode needs more than one value per channel, and the last stage of "
            f"{describe(a)} leaves 1 x 1 pixels; received batch=1. Use batch 2 or more, a larger image, or train=False."
        )


def architecture_reasons(model: ModelSpec) -> dict[str, str]:
    """Fields of the architecture that change nothing for `model`: field -> why the control is disabled."""
    a = model.architecture
    reasons = {}
    if isinstance(a, Mlp | Gpt) and not model.train:
        reasons["dropout"] = "dropout is off in eval mode"
    if isinstance(a, Mlp) and a.in_features != a.width and a.depth == 1:
        reasons["residual"] = "only one layer runs and it changes the width: there is nothing to add back"
    if isinstance(a, Recurrent) and model.device == "cpu" and a.cell != "lstm":
        reasons["fused"] = "on the CPU torch fuses only nn.LSTM"
    elif isinstance(a, Recurrent) and a.cell.startswith("hand_written"):
        reasons["fused"] = "a cell written out by hand has nothing to fuse"
    elif isinstance(a, Recurrent) and model.device == "cpu" and model.dtype == "float64":
        reasons["fused"] = "oneDNN has no float64"
    return reasons


def settle(architecture: AnyArchitecture, **toggles: Any) -> tuple[ModelSpec, dict[str, str]]:
    """The ModelSpec for `architecture` with those `toggles` that fit it, and its `toggle_reasons`.

    For controls shared by all models: numbers too large are lowered, unknown parameter groups dropped. Values outside
    a field's own range still raise ValueError.
    """
    from engine.models.spec import ModelSpec

    reasons = refusals(architecture)
    blocks, groups = block_count(architecture), parameter_groups(architecture)
    kept = {name: value for name, value in toggles.items() if name not in reasons}
    if "frozen" in kept:
        kept["frozen"] = tuple(name for name in kept["frozen"] if name in groups)
    if kept.get("grad_mode_block", -1) >= blocks:
        kept["grad_mode_block"] = blocks - 1
    if kept.get("checkpoint") == "segments" and kept.get("checkpoint_segments", 1) > blocks:
        kept["checkpoint_segments"] = blocks
    if kept.get("dtype") == "float64":
        kept.pop("autocast", None)
    model = ModelSpec(architecture=architecture, **kept)
    return model, toggle_reasons(model)
