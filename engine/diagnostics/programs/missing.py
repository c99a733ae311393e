"""Programs after which .grad of something is None."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def to_non_leaf() -> dict[str, Any]:
    a = torch.ones(2, requires_grad=True).double()
    b = torch.ones(2, dtype=torch.double).requires_grad_()
    mid = b * 3
    loss = a.sum() + mid.pow(2).sum()
    return locals()


def to_non_leaf_fixed() -> dict[str, Any]:
    a = torch.ones(2).double().requires_grad_()
    b = torch.ones(2, dtype=torch.double).requires_grad_()
    mid = b * 3
    mid.retain_grad()
    loss = a.sum() + mid.pow(2).sum()
    return locals()


def rewrapped_tensor() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    hidden = w * 3
    copied = torch.tensor(hidden, requires_grad=True)
    loss = copied.pow(2).sum()
    return locals()


def rewrapped_tensor_fixed() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    hidden = w * 3
    loss = hidden.pow(2).sum()
    return locals()


def item_in_the_middle() -> dict[str, Any]:
    w = torch.tensor(2.0, requires_grad=True)
    scale = torch.tensor(3.0, requires_grad=True)
    number = (w * 5).item()
    loss = scale * number
    return locals()


def item_in_the_middle_fixed() -> dict[str, Any]:
    w = torch.tensor(2.0, requires_grad=True)
    scale = torch.tensor(3.0, requires_grad=True)
    product = w * 5
    loss = scale * product
    return locals()


def through_numpy() -> dict[str, Any]:
    w = torch.tensor([1.0, 4.0], requires_grad=True)
    bias = torch.tensor([0.5, 0.5], requires_grad=True)
    roots = (w * 2).detach().numpy() ** 0.5
    loss = (torch.from_numpy(roots) + bias).sum()
    return locals()


def through_numpy_fixed() -> dict[str, Any]:
    w = torch.tensor([1.0, 4.0], requires_grad=True)
    bias = torch.tensor([0.5, 0.5], requires_grad=True)
    roots = (w * 2).sqrt()
    loss = (roots + bias).sum()
    return locals()


def argmax_path() -> dict[str, Any]:
    w = torch.tensor([[0.2, 0.5, 0.3]], requires_grad=True)
    table = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
    choice = w.argmax(dim=1)
    loss = table[choice].sum()
    return locals()


def argmax_path_fixed() -> dict[str, Any]:
    w = torch.tensor([[0.2, 0.5, 0.3]], requires_grad=True)
    table = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
    weights = w.softmax(dim=1)
    loss = (weights * table).sum()
    return locals()


def detached_middle() -> dict[str, Any]:
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(3, 4), nn.Linear(4, 1)
    model = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    x = torch.ones(2, 3)
    code = encoder(x).tanh()
    kept = code.detach()
    loss = decoder(kept).pow(2).sum()
    return locals()


def detached_middle_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(3, 4), nn.Linear(4, 1)
    model = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    x = torch.ones(2, 3)
    code = encoder(x).tanh()
    loss = decoder(code).pow(2).sum()
    return locals()


def module_under_no_grad() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.ones(2, 3)
    with torch.no_grad():
        features = model[1](model[0](x))
    loss = model[2](features).sum()
    return locals()


def module_under_no_grad_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.ones(2, 3)
    features = model[1](model[0](x))
    loss = model[2](features).sum()
    return locals()


def unused_output() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.ModuleDict({"body": nn.Linear(3, 4), "main": nn.Linear(4, 1), "auxiliary": nn.Linear(4, 2)})
    x = torch.ones(2, 3)
    code = model["body"](x).tanh()
    outputs = model["main"](code)
    extra = model["auxiliary"](code)
    loss = outputs.sum()
    return locals()


def unused_output_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.ModuleDict({"body": nn.Linear(3, 4), "main": nn.Linear(4, 1), "auxiliary": nn.Linear(4, 2)})
    x = torch.ones(2, 3)
    code = model["body"](x).tanh()
    outputs = model["main"](code)
    extra = model["auxiliary"](code)
    loss = outputs.sum() + 0.1 * extra.sum()
    return locals()


class Net(nn.Module):
    """One layer that runs and one that does not."""

    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(2, 1)
        self.idle = nn.Linear(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.used(x)
        return result


def unused_parameters() -> dict[str, Any]:
    torch.manual_seed(0)
    model = Net()
    loss = model(torch.ones(1, 2)).sum()
    return locals()


def unused_parameters_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model = Net()
    model.idle.requires_grad_(False)
    loss = model(torch.ones(1, 2)).sum()
    return locals()


class Joined(torch.autograd.Function):
    """Joins its tensors, handed over one by one or in a list."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> torch.Tensor:
        return torch.cat(list(tensors[0] if isinstance(tensors[0], list) else tensors))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return tuple(gradient[i : i + 1] for i in range(len(gradient)))


def list_into_function() -> dict[str, Any]:
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    joined = Joined.apply([a, b])  # type: ignore[no-untyped-call]
    loss = (joined * torch.tensor([2.0, 5.0])).sum()
    return locals()


def list_into_function_fixed() -> dict[str, Any]:
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    joined = Joined.apply(a, b)  # type: ignore[no-untyped-call]
    loss = (joined * torch.tensor([2.0, 5.0])).sum()
    return locals()


def reentrant_checkpoint() -> dict[str, Any]:
    torch.manual_seed(0)
    model, head = nn.Linear(3, 2), torch.ones(2, requires_grad=True)
    x = torch.ones(4, 3)
    y = checkpoint(model, x, use_reentrant=True)
    loss = (y * head).sum()
    return locals()


def reentrant_checkpoint_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model, head = nn.Linear(3, 2), torch.ones(2, requires_grad=True)
    x = torch.ones(4, 3)
    y = checkpoint(model, x, use_reentrant=False)
    loss = (y * head).sum()
    return locals()
