"""try_article: a published Hessian-vector product, word for word, where it works and where not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor, nn

from engine.higher_order.results import Article, Tried
from engine.higher_order.spec import ArticleSpec, Situation
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink


def hvp(model: Any, loss: Tensor, v: Any) -> Any:
    """As the article has it."""
    grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    flat_grad = torch.cat([g.view(-1) for g in grads])
    return torch.autograd.grad(flat_grad, model.parameters(), grad_outputs=v)


def hvp_corrected(model: nn.Module, loss: Tensor, v: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same for any gradient: nothing is flattened, what has no path is zero, frozen parameters are left out."""
    ps = [p for p in model.parameters() if p.requires_grad]
    vs = split_like(v, ps) if isinstance(v, Tensor) else v
    gs = torch.autograd.grad(loss, ps, create_graph=True, materialize_grads=True)
    kept = [(g, u) for g, u in zip(gs, vs, strict=True) if g.requires_grad]
    if not kept:
        return tuple(map(torch.zeros_like, ps))
    outputs, vectors = zip(*kept, strict=True)
    return torch.autograd.grad(outputs, ps, grad_outputs=vectors, materialize_grads=True)


def split_like(flat: Tensor, parameters: Iterable[Tensor]) -> list[Tensor]:
    """A flat vector as one tensor per parameter."""
    parameters = list(parameters)
    parts = torch.split(flat, [p.numel() for p in parameters])
    return [part.view(p.shape) for part, p in zip(parts, parameters, strict=True)]


class _WithUnused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(3, 1)
        self.unused = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.used(x)
        return found


class _Case(NamedTuple):
    model: nn.Module
    loss: Callable[[nn.Module], Tensor]
    why: str
    as_list: bool = False
    spent: bool = False
    """Whether loss.backward() ran before."""


def _mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def _case(situation: Situation) -> _Case:
    x, y = torch.randn(5, 3), torch.randn(5, 1)

    def squared(model: nn.Module) -> Tensor:
        return nn.functional.mse_loss(model(x), y)

    match situation:
        case "flat v, contiguous gradients":
            return _Case(_mlp(), squared, "v has as many entries as all parameters together: it is right.")
        case "v as a list, one tensor per parameter":
            why = "`flat_grad` is one tensor, so `grad_outputs` must be one of its shape: v has to be flattened too."
            return _Case(_mlp(), squared, why, as_list=True)
        case "a parameter that the loss does not use":
            return _Case(_WithUnused(), squared, "The first `grad` names no `allow_unused` nor `materialize_grads`.")
        case "an output bias without a second derivative":
            why = "The loss is linear in the last bias: its gradient is a constant, and the second `grad` has no path."
            return _Case(_mlp(), lambda model: model(x).mean(), why)
        case "a channels_last convolution":
            return _convolution()
        case "a frozen parameter":
            model = _mlp()
            next(model.parameters()).requires_grad_(False)
            return _Case(model, squared, "`model.parameters()` also gives those that do not require grad.")
        case "a linear loss":
            why = "No gradient depends on a parameter, so `flat_grad` has no grad_fn. The Hessian is 0."
            return _Case(nn.Sequential(nn.Linear(3, 1)), lambda model: model(x).sum(), why)
        case "after loss.backward()":
            return _Case(_mlp(), squared, "`backward()` has freed the graph: compute the loss anew.", spent=True)


def _convolution() -> _Case:
    images = torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last)
    plain: Any = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh())
    model: nn.Module = plain.to(memory_format=torch.channels_last)
    why = "The weight's gradient is channels_last: `view(-1)` cannot flatten it without a copy, `reshape(-1)` can."
    return _Case(model, lambda model: model(images).pow(2).mean(), why)


def try_article(spec: ArticleSpec, progress: ProgressSink) -> Article:
    """Each situation with a model of its own, in float64."""
    situations: tuple[Situation, ...] = get_args(Situation)
    found = []
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for number, situation in enumerate(situations):
            progress(situation, number / len(situations))
            torch.manual_seed(spec.seed)
            found.append(_tried(situation, _case(situation)))
    finally:
        torch.set_default_dtype(before)
    return Article(tried=tuple(found))


def _tried(situation: str, case: _Case) -> Tried:
    trainable = [p for p in case.model.parameters() if p.requires_grad]
    flat = torch.randn(sum(p.numel() for p in trainable))
    v: Any = split_like(flat, trainable) if case.as_list else flat
    loss = case.loss(case.model)
    if case.spent:
        loss.backward()  # type: ignore[no-untyped-call]
    literal, error = attempt(lambda: hvp(case.model, loss, v))
    fresh = case.loss(case.model)
    corrected, corrected_error = attempt(lambda: hvp_corrected(case.model, fresh, v))
    wanted = full_product(case.model, case.loss, flat)
    return Tried(
        situation=situation,
        why=case.why,
        error=error,
        distance=None if literal is None else _distance(literal, wanted),
        returned="" if literal is None else "a tuple of " + ", ".join(str(tuple(one.shape)) for one in literal),
        corrected_error=corrected_error,
        corrected_distance=None if corrected is None else _distance(corrected, wanted),
        strides=_strides(case),
        parameters=flat.numel(),
    )


def full_product(model: nn.Module, loss: Callable[[nn.Module], Tensor], v: Tensor) -> Tensor:
    """The Hessian over all trainable parameters by torch.func.hessian, times v: no way of either hvp."""
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    flat = torch.cat([p.detach().reshape(-1) for p in trainable.values()])

    def of(x: Tensor) -> Tensor:
        parts = dict(zip(trainable, split_like(x, trainable.values()), strict=True))
        return loss(_Called(model, parts))

    hessian: Tensor = torch.func.hessian(of)(flat)
    return hessian.detach() @ v


class _Called(nn.Module):
    """The model with other parameters."""

    def __init__(self, model: nn.Module, parts: dict[str, Tensor]) -> None:
        super().__init__()
        self.call: Callable[..., Tensor] = lambda *given: torch.func.functional_call(model, parts, given)

    def forward(self, *given: Tensor) -> Tensor:
        return self.call(*given)


def _distance(found: Iterable[Tensor], wanted: Tensor) -> float:
    return float((torch.cat([one.detach().reshape(-1) for one in found]) - wanted).abs().max())


def _strides(case: _Case) -> tuple[str, ...]:
    named = [(name, p) for name, p in case.model.named_parameters() if p.requires_grad]
    grads = torch.autograd.grad(case.loss(case.model), [p for _, p in named], create_graph=True, allow_unused=True)
    return tuple(
        f"{name}: None" if g is None else f"{name}: shape {tuple(g.shape)}, stride {g.stride()}"
        for (name, _), g in zip(named, grads, strict=True)
    )
