"""`AdamW` and `SGD`: torch.optim's own, with a step that is one call for all parameters of a dtype.

    from engine.operators.optimizers import AdamW
    optimizer = AdamW(model.parameters(), lr=1e-3)

Arguments, parameter groups, hooks and state_dict are PyTorch's; a state_dict of either kind loads into the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.operators import adamw_step_, sgd_step_
from engine.operators.flat_groups import FlatGroups, Run


def _own_entries(state_dict: dict[str, Any]) -> dict[str, Any]:
    """With dicts and step counts that belong to one parameter each, as PyTorch's optimizers write them."""
    state = {
        key: {name: value.clone() if name == "step" else value for name, value in entry.items()}
        for key, entry in state_dict["state"].items()
    }
    return state_dict | {"state": state}


def _loss_of(closure: Callable[[], Any] | None) -> Any:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


class AdamW(torch.optim.AdamW):
    """torch.optim.AdamW whose averages lie in one tensor per group, dtype and device; `state` holds views of it.

    The parameters of such a run share one `step` tensor. Change entries of `state` in place or by load_state_dict.
    A step in which other parameters have gradients than in the one before copies the averages once.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
        self._runs = FlatGroups(self.state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._runs = FlatGroups(self.state)

    def state_dict(self) -> dict[str, Any]:
        """As PyTorch's; the averages are views of the present ones, the step counts copies."""
        return _own_entries(super().state_dict())

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step for every parameter with a gradient; what `closure` returned."""
        loss = _loss_of(closure)
        for number, group in enumerate(self.param_groups):
            averages = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
            for run, grads in self._runs.of(number, group["params"], averages, counted=True):
                _step_adamw(run, grads, group)
        return loss


def _step_adamw(run: Run, grads: list[Tensor], group: dict[str, Any]) -> None:
    beta1, beta2 = group["betas"]
    assert run.step is not None
    adamw_step_(
        run.params,
        grads,
        *([flat] for flat in run.flat.values()),
        step=int(run.step.item()) + 1,
        lr=float(group["lr"]),
        beta1=float(beta1),
        beta2=float(beta2),
        eps=group["eps"],
        weight_decay=group["weight_decay"],
        maximize=group["maximize"],
    )
    run.step += 1


class SGD(torch.optim.SGD):
    """torch.optim.SGD whose momentum lies in one tensor per group, dtype and device; `state` holds views of it.

    Change entries of `state` in place or by load_state_dict. A step in which other parameters have gradients than in
    the one before copies the momentum once.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, maximize=maximize)
        self._runs = FlatGroups(self.state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._runs = FlatGroups(self.state)

    def state_dict(self) -> dict[str, Any]:
        """As PyTorch's; the momentum is a view of the present one."""
        return _own_entries(super().state_dict())

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step for every parameter with a gradient; what `closure` returned."""
        loss = _loss_of(closure)
        for number, group in enumerate(self.param_groups):
            buffers = ("momentum_buffer",) if group["momentum"] else ()
            for run, grads in self._runs.of(number, group["params"], buffers, counted=False):
                _step_sgd(run, grads, group)
        return loss


def _step_sgd(run: Run, grads: list[Tensor], group: dict[str, Any]) -> None:
    sgd_step_(
        run.params,
        grads,
        list(run.flat.values()),
        lr=float(group["lr"]),
        momentum=group["momentum"],
        dampening=group["dampening"],
        weight_decay=float(group["weight_decay"]),
        nesterov=group["nesterov"],
        maximize=group["maximize"],
        first=run.first and bool(run.flat),
    )
    run.first = False
