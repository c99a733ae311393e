"""What an operator is in Python: its reference, its shapes, its derivative and its rules; registered in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from engine.operators.derivative import autograd_rule
from engine.operators.load import NAMESPACE, load
from engine.operators.refusals import in_words, strided_only

LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
"""Holds what is registered for as long as the process lives."""


def refuse_second_derivative(operator: str) -> Callable[..., Any]:
    """A `backward` for a backward operator that has no derivative: RuntimeError in words."""

    def refuse(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(f"{operator} is not twice differentiable: its backward has no derivative of its own.")

    return refuse


def nothing(*args: Any, **kwargs: Any) -> None:
    """The fake of an operator that only writes in place."""


def _checked(check: Callable[..., Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    def after_check(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return compute(*args, **kwargs)

    return after_check


def told_to_autograd(*written: Sequence[Tensor]) -> None:
    """Raise the version of every tensor written in place, so that a backward that saved it refuses to run on it.

    PyTorch does this for its own operators only. Also while compiling: the graph raises the versions of its inputs when
    it is done, which is too late for a backward that saved one before the step.
    """
    torch.autograd.graph.increment_version([tensor for tensors in written for tensor in tensors])


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One operator of csrc/operators.cpp.

    `reference` computes it with PyTorch's own operations and runs where nothing is compiled; `fake` gives shapes,
    strides and dtypes only. `check` refuses before either of them what the compiled operator refuses, in its words. As
    PyTorch asks the fake too where only some tensors are on meta, it also keeps real ones from standing beside those.
    `setup_context` and `backward` are as torch.library.register_autograd takes them.
    `autocast` is None to compute in the dtype received, a dtype, or "lower" for the region's own.
    """

    name: str
    reference: Callable[..., Any]
    fake: Callable[..., Any]
    check: Callable[..., Any]
    setup_context: Callable[..., None] | None = None
    backward: Callable[..., Any] | None = None
    autocast: torch.dtype | Literal["lower"] | None = None
    vmap: Callable[..., Any] | None = None


def register(operator: Operator) -> Callable[..., Any]:
    """Register everything that `operator` declares; returns `torch.ops.atlas.<name>`, its errors in words."""
    qualified = f"{NAMESPACE}::{operator.name}"
    compiled = load().compiled  # the operators are defined from here on
    called: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), operator.name)
    if not compiled:
        reference = strided_only(operator.name, called, _checked(operator.check, operator.reference))
        torch.library.impl(qualified, "default", reference)
    torch.library.register_fake(qualified, _checked(operator.check, operator.fake))
    if operator.backward is not None:
        assert operator.setup_context is not None
        rule = autograd_rule(called.default, operator.backward, operator.setup_context)  # type: ignore[attr-defined]
        LIBRARY.impl(operator.name, rule, "Autograd", with_keyset=True)  # type: ignore[no-untyped-call]
    if operator.autocast is not None:
        for device, lower in (("cpu", torch.bfloat16), ("cuda", torch.float16)):
            dtype = lower if isinstance(operator.autocast, str) else operator.autocast
            torch.library.register_autocast(qualified, device, dtype)
    if operator.vmap is not None:
        torch.library.register_vmap(qualified, operator.vmap)
    return in_words(operator.name, called, operator.fake)
