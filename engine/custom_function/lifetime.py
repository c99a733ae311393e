"""What saving on ctx instead of by save_for_backward costs: outputs that stay alive, writes that nobody notices."""

from __future__ import annotations

import gc
import weakref

import torch

from engine.custom_function.building import Made, Tensors, make_inputs
from engine.custom_function.results import Lifetime
from engine.custom_function.spec import CustomFunctionSpec
from engine.garbage import collection_paused
from engine.pytorch_said import attempt


def observe_lifetime(spec: CustomFunctionSpec, made: Made) -> Lifetime:
    """Let go of an output and see whether it goes; write into an input after forward and run backward."""
    freed, collected = _let_go(spec, made)
    before, _ = attempt(lambda: _gradient(spec, made, write=False))
    after, error = attempt(lambda: _gradient(spec, made, write=True))
    moved = None
    if before is not None and after is not None:
        moved = float((after - before).abs().max()) if before.numel() else 0.0
    return Lifetime(
        freed_at_once=freed, freed_by_gc=collected, write_error=error if before is not None else None,
        gradient_changed=moved,
    )  # fmt: skip


def _let_go(spec: CustomFunctionSpec, made: Made) -> tuple[bool, bool]:
    """Whether the first output is freed when its last name goes, and otherwise whether gc.collect() frees it."""
    with collection_paused():
        alive = weakref.ref(made.call(*make_inputs(spec))[0])
        if alive() is None:
            return True, True
        gc.collect()
        return False, alive() is None


def _gradient(spec: CustomFunctionSpec, made: Made, *, write: bool) -> torch.Tensor | None:
    """The gradient of a copy of the first input that is written to between forward and backward."""
    torch.manual_seed(spec.seed)
    leaves = make_inputs(spec)
    x = leaves[0].clone()
    outputs: Tensors = made.call(x, *leaves[1:])
    used = [one for one in outputs if one.requires_grad]
    if not used:
        return None
    if write:
        with torch.no_grad():
            x.add_(1)
    seeds = [torch.full_like(one, spec.grad_output, requires_grad=False) for one in used]
    return torch.autograd.grad(used, x, seeds, allow_unused=True)[0]
