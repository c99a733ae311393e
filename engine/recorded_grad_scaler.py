"""Private names of torch that only the page on gradient scaling needs (torch 2.11-2.14)."""

from __future__ import annotations

import torch


def found_inf_of(scaler: torch.amp.GradScaler, optimizer: torch.optim.Optimizer) -> float | None:
    """The scaler's own flag for this optimizer since the last update, None where it has not looked yet."""
    states = getattr(scaler, "_per_optimizer_states", {})
    if id(optimizer) not in states:
        return None
    flags = states[id(optimizer)]["found_inf_per_device"].values()
    return float(sum(flag.item() for flag in flags)) if flags else None


def found_inf_in(gradient: torch.Tensor) -> bool:
    """The answer of the scaler's own kernel for one gradient alone, which is left as it is."""
    values = values_of(gradient).detach().clone()
    found, one = torch.zeros(()), torch.ones(())
    torch._amp_foreach_non_finite_check_and_unscale_([values], found, one)
    return bool(found.item())


def values_of(gradient: torch.Tensor) -> torch.Tensor:
    """The stored values of a sparse gradient, a dense one itself."""
    return gradient._values() if gradient.is_sparse else gradient


def supports_scaling(optimizer: torch.optim.Optimizer) -> bool:
    """Whether its step takes `grad_scale` and `found_inf` and skips by itself, as fused ones do."""
    return bool(getattr(optimizer, "_step_supports_amp_scaling", False))
