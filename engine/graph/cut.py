"""Where a model spec takes tensors off the graph: a gradient mode at a block, or a reentrant checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import nn

from engine.graph.leaves import Cut, Why
from engine.models.spec import ModelSpec

_MODES: dict[str, tuple[Why, str]] = {
    "no_grad": ("no_grad", "ran under torch.no_grad(): autograd recorded nothing of it"),
    "inference_mode": ("inference", "ran under torch.inference_mode(): autograd recorded nothing of it"),
    "detach": ("detached", "returned its output detached: backward stops there"),
}


def cut_of(spec: ModelSpec, model: nn.Module, calls: Mapping[str, int]) -> Cut | None:
    """The cut the spec makes, in words and by the modules it covers; None when it makes none."""
    if spec.grad_mode != "grad":
        why, what = _MODES[spec.grad_mode]
        if spec.grad_mode_block < 0:
            return Cut(why, f"the whole forward {what}", lambda module: True)
        path = _paths_of_blocks(model)[spec.grad_mode_block]
        place = f"block {spec.grad_mode_block} ({path}) {what}, so nothing in or before it gets a gradient"
        return Cut(why, place, _up_to(path, list(calls)))
    if spec.checkpoint != "off" and spec.use_reentrant:
        place = (
            "inside a reentrant checkpoint, which runs under no_grad and records nothing unless one of its inputs "
            "requires grad. Let the input require grad, or use use_reentrant=False."
        )
        paths = _paths_of_blocks(model)
        return Cut("no_grad", place, lambda module: any(f"{module}.".startswith(f"{path}.") for path in paths))
    return None


def _paths_of_blocks(model: nn.Module) -> list[str]:
    """Module path of every block in the order they run; a block that runs several times is listed as often."""
    paths = {module: path for path, module in model.named_modules()}
    return [paths.get(block, "?") for block in getattr(model, "blocks", ())]


def _up_to(path: str, in_order: list[str]) -> Callable[[str], bool]:
    """Whether a module ran before the end of `path`: the modules called before it, itself and all below it."""
    last = max((i for i, called in enumerate(in_order) if called == path or called.startswith(f"{path}.")), default=-1)
    covered = {called for i, called in enumerate(in_order) if i <= last}
    return lambda module: module in covered
