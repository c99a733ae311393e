"""A variant made real: a callable without arguments, ready for the clock."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from engine import operators as compiled_operators
from engine.models.build import Built, build
from engine.models.loss import floating
from engine.models.toggles import run_under
from engine.operators.load import load
from engine.timing import operators
from engine.timing.catalogue import Operand, Operator, operands_of
from engine.timing.variant import OperatorVariant, StepVariant, Variant

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]
Work = Callable[[], Any]
Drawn = dict[tuple[Any, ...], tuple[Tensor, ...]]
"""Operands by what they were asked to be, so that sides with the same operands read the same memory."""

LEARNING_RATE = 0.0
"""The update costs the same, and the weights of a step timed a thousand times stay where they are."""


class NotThere(RuntimeError):
    """An operator that this machine has not built; the text says why."""


@dataclass
class Prepared:
    """`work` is what is timed, `results` one call's named tensors; `operands` is () for a model."""

    work: Work
    results: Callable[[], dict[str, Tensor]]
    operands: tuple[Tensor, ...] = ()
    function: Callable[..., Tensor] | None = None


def prepare(variant: Variant, seed: int, drawn: Drawn, compile: Compile | None = None) -> Prepared:
    """The callable of `variant`; NotThere for an operator that is not built, and whatever PyTorch raises.

    `compile` is put around the function or the model.
    """
    if isinstance(variant, StepVariant):
        return _prepare_step(variant, compile)
    return _prepare_operator(variant, seed, drawn, compile)


def function_of(row: Operator) -> Callable[..., Tensor]:
    """What the catalogue's row calls: a function of operators.py, or the compiled operator of that name."""
    if not row.compiled:
        found: Callable[..., Tensor] = getattr(operators, row.name)
        return found
    loaded = load()
    if not loaded.compiled:
        raise NotThere(f"{row.code}: {loaded.reason}")
    try:
        return partial(getattr(compiled_operators, row.compiled), **dict(row.keywords))
    except AttributeError as error:
        raise NotThere(f"{row.code}: {error}") from error


def draw(row: Operator, variant: OperatorVariant, seed: int) -> tuple[Tensor, ...]:
    """Fresh operands from `seed`: standard normal in float32, then cast, so that dtypes hold the same values."""
    generator = torch.Generator().manual_seed(seed)
    wanted = operands_of(row.operands, variant.rows, variant.columns)
    return tuple(_laid_out(_values(one, variant, generator), one, variant) for one in wanted)


def _values(one: Operand, variant: OperatorVariant, generator: torch.Generator) -> Tensor:
    if one.is_index:
        return torch.randint(variant.columns, one.shape, generator=generator)
    return torch.randn(one.shape, generator=generator).to(getattr(torch, variant.dtype))


def _laid_out(x: Tensor, one: Operand, variant: OperatorVariant) -> Tensor:
    if not one.is_laid_out or variant.layout == "contiguous":
        return x
    if variant.layout == "transposed":
        return x.t().contiguous().t()
    if variant.layout == "strided":
        return x.repeat_interleave(2, dim=1)[:, ::2]
    return x.contiguous(memory_format=torch.channels_last)


def gradient_mode(mode: str) -> AbstractContextManager[Any]:
    """The context a mode's name stands for."""
    if mode == "no_grad":
        return torch.no_grad()
    if mode == "inference_mode":
        return torch.inference_mode()
    return torch.autocast("cpu", dtype=torch.bfloat16) if mode == "autocast bfloat16" else nullcontext()


def _prepare_operator(variant: OperatorVariant, seed: int, drawn: Drawn, compile: Compile | None) -> Prepared:
    row = variant.row
    function = function_of(row)
    key = (row.operands, variant.rows, variant.columns, variant.dtype, variant.layout, not row.differentiable)
    if key not in drawn:
        drawn[key] = draw(row, variant, seed)
    needs_grad = variant.mode in ("grad", "autocast bfloat16")
    inputs = tuple(x.detach().requires_grad_(needs_grad and x.is_floating_point()) for x in drawn[key])
    called = compile(function) if compile else function
    if variant.output == "reused":
        out = function(*inputs).detach()
        called = partial(getattr(operators, f"{row.name}_out"), out=out)
    work = _with_backward(called, inputs, variant.mode) if variant.work != "forward" else None
    work = work or partial(_forward, called, inputs, variant.mode)
    return Prepared(work, lambda: _named(work()), inputs, function)


def _forward(function: Callable[..., Any], inputs: tuple[Tensor, ...], mode: str) -> Any:
    with gradient_mode(mode):
        return function(*inputs)


def _with_backward(function: Callable[..., Any], inputs: tuple[Tensor, ...], mode: str) -> Work:
    """Forward, then the gradients of every operand for one fixed gradient of the result."""
    leaves = tuple(x for x in inputs if x.requires_grad)
    gradient = torch.ones_like(_forward(function, inputs, mode))

    def work() -> tuple[Tensor, ...]:
        result = _forward(function, inputs, mode)
        return (result, *torch.autograd.grad(result, leaves, gradient))

    return work


def _named(outcome: Any) -> dict[str, Tensor]:
    """The result, and where there was a backward the gradients."""
    if isinstance(outcome, Tensor):
        return {"result": outcome}
    first, *rest = outcome
    return {"result": first} | {f"gradient {number + 1}": one for number, one in enumerate(rest)}


def _prepare_step(variant: StepVariant, compile: Compile | None) -> Prepared:
    built = build(variant.model)
    parameters = [p for p in built.model.parameters() if p.requires_grad]
    if compile:
        built.model = compile(built.model)  # type: ignore[assignment]
    forward = partial(_run_model, built)
    if variant.work == "forward":
        return Prepared(forward, lambda: _named_outputs(forward()))
    step = variant.work == "training step" and bool(parameters)
    optimizer = torch.optim.SGD(parameters, lr=LEARNING_RATE) if step else None
    leaves = [*parameters, *(x for x in built.inputs.values() if x.requires_grad)]

    def work() -> Tensor:
        loss = built.loss(forward())
        loss.backward()  # type: ignore[no-untyped-call]
        if optimizer is not None:
            optimizer.step()
        for leaf in leaves:
            leaf.grad = None
        return loss

    return Prepared(work, lambda: _loss_and_gradients(built.loss(forward()), leaves))


def _run_model(built: Built) -> Any:
    """`built.forward()` without its seeding, which a training loop has not either."""
    mode = built.spec.grad_mode if built.spec.grad_mode_block < 0 else "grad"
    with built.autocast():
        return run_under(mode, built.model, **built.inputs)


def _named_outputs(outputs: Any) -> dict[str, Tensor]:
    return {f"output {number}": one for number, one in enumerate(floating(outputs))}


def _loss_and_gradients(loss: Tensor, leaves: list[Tensor]) -> dict[str, Tensor]:
    """What one step computes, in the order in which the module lists its parameters; leaves no gradient behind."""
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    dense = [one.to_dense() if one is not None and one.is_sparse else one for one in found]
    return {"loss": loss} | {f"gradient {number}": one for number, one in enumerate(dense) if one is not None}
