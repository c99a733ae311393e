"""One gradient step written in several forms: what each allocates and what becomes of the parameters."""

from __future__ import annotations

from collections.abc import Callable

import torch

from engine import recorded
from engine.claims.counting import LiveBytes
from engine.in_place.results import Update
from engine.in_place.spec import Updated, UpdateSpec
from engine.runner.contract import ProgressSink

Parameters = list[torch.Tensor]
Form = Callable[[Parameters, float], Parameters]


def in_place(parameters: Parameters, lr: float) -> Parameters:
    """The gradient is added where the parameter lies, and zeroed where it lies."""
    with torch.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.add_(parameter.grad, alpha=-lr)
                parameter.grad.zero_()
    return parameters


def in_place_product(parameters: Parameters, lr: float) -> Parameters:
    """In place as well, but the product lr * grad is a tensor of its own."""
    with torch.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter -= lr * parameter.grad
                parameter.grad.zero_()
    return parameters


def new_data(parameters: Parameters, lr: float) -> Parameters:
    """The tensor stays, its memory is new."""
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.data = parameter.data - lr * parameter.grad
            parameter.grad = None
    return parameters


def rebinding(parameters: Parameters, lr: float) -> Parameters:
    """Other tensors, which are no leaves: their history is the update itself."""
    return [one if one.grad is None else one - lr * one.grad for one in parameters]


class Optimizer:
    """torch.optim.SGD, made once for its parameters."""

    def __init__(self, foreach: bool) -> None:
        self.foreach = foreach
        self.made: dict[int, torch.optim.SGD] = {}

    def __call__(self, parameters: Parameters, lr: float) -> Parameters:
        optimizer = self.made.get(id(parameters[0]))
        if optimizer is None:
            optimizer = self.made[id(parameters[0])] = torch.optim.SGD(parameters, lr=lr, foreach=self.foreach)
        optimizer.step()
        return parameters


FORMS: tuple[tuple[str, str, Callable[[], Form]], ...] = (
    ("in place", "with no_grad(): p.add_(p.grad, alpha=-lr); p.grad.zero_()", lambda: in_place),
    ("in place, with a product", "with no_grad(): p -= lr * p.grad; p.grad.zero_()", lambda: in_place_product),
    ("new data", "p.data = p.data - lr * p.grad; p.grad = None", lambda: new_data),
    ("rebinding", "p = p - lr * p.grad", lambda: rebinding),
    ("torch.optim.SGD", "SGD(parameters, lr, foreach=False).step()", lambda: Optimizer(foreach=False)),
    ("torch.optim.SGD foreach", "SGD(parameters, lr, foreach=True).step()", lambda: Optimizer(foreach=True)),
)


def compare_updates(spec: UpdateSpec, progress: ProgressSink) -> Updated:
    """Every form on parameters of its own with equal values and gradients; the last values are compared."""
    updates, ends = [], []
    for place, (name, code, make) in enumerate(FORMS):
        progress(name, place / len(FORMS))
        update, end = _measure(spec, name, code, make())
        updates.append(update)
        ends.append(end)
    reference = ends[0]
    differences = [_largest_difference(reference, end) for end in ends[1:]]
    return Updated(
        updates=tuple(updates),
        parameter_bytes=sum(one.nbytes for one in reference),
        largest_difference=max(differences),
    )


def _largest_difference(first: Parameters, second: Parameters) -> float:
    pairs = zip(first, second, strict=True)
    return max(float((a.detach().double() - b.detach().double()).abs().max()) for a, b in pairs)


class Allocations(LiveBytes):  # type: ignore[no-untyped-call]
    """Counts bytes of every new storage too, alive or not."""

    freed_bytes = 0

    def release(self, address: int) -> None:
        self.freed_bytes += self.known[address]
        super().release(address)

    @property
    def allocated_bytes(self) -> int:
        return self.live_bytes + self.freed_bytes


def _measure(spec: UpdateSpec, name: str, code: str, form: Form) -> tuple[Update, Parameters]:
    parameters = make_parameters(spec)
    first = parameters[0]
    held, version = first.untyped_storage(), recorded.version_of(first) or 0  # held: its address is not given again
    _give_gradients(parameters, spec, 0)
    updated = form(parameters, spec.lr)
    # outside of the mode that counts: under it, foreach operations raise no version in torch 2.13
    versions = version, recorded.version_of(updated[0]) or 0
    keeps_data_ptr = updated[0].data_ptr() == held.data_ptr()
    del held
    counted = Allocations()
    for step in range(spec.steps):
        _give_gradients(updated, spec, step + 1)
        with counted:
            updated = form(updated, spec.lr)
    end = updated[0]
    return Update(
        name=name,
        code=code,
        allocations=counted.allocations / spec.steps,
        allocated_bytes=counted.allocated_bytes / spec.steps,
        peak_bytes=counted.peak_bytes,
        keeps_data_ptr=keeps_data_ptr,
        keeps_tensor=end is first,
        is_leaf=end.is_leaf,
        version_before=versions[0],
        version_after=versions[1],
    ), updated


def make_parameters(spec: UpdateSpec) -> Parameters:
    """Leaves that require grad, equal for equal specs."""
    generator = torch.Generator().manual_seed(spec.seed)
    shape, dtype = (spec.width, spec.width), getattr(torch, spec.dtype)
    values = [torch.randn(shape, generator=generator).to(dtype) for _ in range(spec.tensors)]
    return [one.requires_grad_() for one in values]


def _give_gradients(parameters: Parameters, spec: UpdateSpec, step: int) -> None:
    """Equal gradients for every form, as a backward would leave them; not counted."""
    generator = torch.Generator().manual_seed(spec.seed + 1 + step)
    for parameter in parameters:
        gradient = torch.randn((spec.width, spec.width), generator=generator).to(parameter.dtype)
        if not parameter.is_leaf:
            parameter.retain_grad()
        if parameter.grad is None:
            parameter.grad = gradient
        else:
            parameter.grad.copy_(gradient)
