"""try_calls: what autograd answers about unused tensors, reference cycles and complex numbers."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.garbage import collection_paused
from engine.higher_order.results import Ruling, Rulings
from engine.higher_order.spec import RulingSpec
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink

differentiate: Any = torch.autograd.grad


def try_calls(spec: RulingSpec, progress: ProgressSink) -> Rulings:
    """One ruling per call of the topic."""
    found = {"unused and copies": _unused, "create_graph leaks": _leaks, "complex numbers": _complex}[spec.topic]()
    return Rulings(rulings=tuple(found))


def _ruled(code: str, call: Callable[[], Any], why: str) -> Ruling:
    value, error = attempt(lambda: _text(call()))
    return Ruling(code=code, value=value or "", error=error, why=why)


def _text(value: Any) -> str:
    return str(value.tolist()) if isinstance(value, Tensor) else str(value)


def _unused() -> list[Ruling]:
    """Over y = (x * x).sum() with x = [1, 2] and an unrelated leaf u."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    u = torch.tensor(1.0, requires_grad=True)
    y = (x * x).sum()

    def grad(of: Tensor, **more: bool) -> Any:
        return differentiate(y, of, retain_graph=True, **more)[0]

    later = "it was made after y from x, and no path leads from y to it: ask for x itself"
    return [
        _ruled("grad(y, x)", lambda: grad(x), "x is what y was computed from"),
        _ruled("grad(y, u)", lambda: grad(u), "u never met y"),
        _ruled("grad(y, u, allow_unused=True)", lambda: grad(u, allow_unused=True), "None says that there is no path"),
        _ruled(
            "grad(y, u, materialize_grads=True)",
            lambda: grad(u, materialize_grads=True),
            "zero, the derivative of what does not depend",
        ),
        _ruled(
            "grad(y, u, allow_unused=False, materialize_grads=True)",
            lambda: grad(u, allow_unused=False, materialize_grads=True),
            "the two contradict each other",
        ),
        _ruled("grad(y, -x)", lambda: grad(-x), later),
        _ruled("grad(y, x.clone())", lambda: grad(x.clone()), later),
        _ruled("grad(y, x.view(2))", lambda: grad(x.view(2)), f"a view too: {later}"),
        _ruled("grad(y, x[:1])", lambda: grad(x[:1]), f"a view too: {later}"),
        _ruled(
            "grad(y.detach(), x)",
            lambda: torch.autograd.grad(y.detach(), x)[0],
            "nothing was recorded behind a detached tensor, nor behind a gradient without create_graph",
        ),
    ]


LEAKS: tuple[tuple[str, str], ...] = (
    (
        "y.backward(create_graph=True)",
        "x holds x.grad, whose graph holds x: a cycle through C++, unseen by Python's gc",
    ),
    ("y.backward(create_graph=True); x.grad = None", "the cycle is cut by hand"),
    ("torch.autograd.grad(y, x, create_graph=True)", "nothing is stored on x, so there is no cycle"),
)


def _leaks() -> list[Ruling]:
    return [_leak(code, why) for code, why in LEAKS]


def _leak(code: str, why: str) -> Ruling:
    """Whether x is alive after `del`, and after `gc.collect()`, by a weak reference."""
    with collection_paused():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            alive = _run(code)
        after_del = alive() is not None
        gc.collect()
        after_collect = alive() is not None
        _cut(alive())
    value = f"alive after del: {after_del}; alive after gc.collect(): {after_collect}"
    return Ruling(code=code, value=value, warnings=tuple(str(one.message) for one in caught), why=why)


def _run(code: str) -> weakref.ref[Tensor]:
    x = torch.ones(3, requires_grad=True)
    y = x.tanh().sum()
    if code.startswith("y.backward"):
        y.backward(create_graph=True)  # type: ignore[no-untyped-call]
        if "None" in code:
            x.grad = None
    else:
        torch.autograd.grad(y, x, create_graph=True)
    return weakref.ref(x)


def _cut(x: Tensor | None) -> None:
    if x is not None:
        x.grad = None


def _complex() -> list[Ruling]:
    """Gradients of real losses of a complex z, and of a complex output."""

    def grad(function: Callable[[Tensor], Tensor], at: complex) -> Any:
        z = torch.tensor(at, requires_grad=True)
        return torch.autograd.grad(function(z), z)[0]

    conjugate = "the conjugate convention: dL/d(Re z) + i dL/d(Im z), the direction of steepest ascent"
    return [
        _ruled("|z|^2 at 3+4j", lambda: grad(lambda z: (z * z.conj()).real, 3 + 4j), f"2 z; {conjugate}"),
        _ruled("Im(z)^2 at 2j", lambda: grad(lambda z: z.imag**2, 2j), "2 Im(z) i: no derivative along the real axis"),
        _ruled("Re(z^2) at 1+2j", lambda: grad(lambda z: (z**2).real, 1 + 2j), "conj(2 z), not 2 z"),
        _ruled("|z| at 0", lambda: grad(lambda z: z.abs(), 0j), "no derivative there: PyTorch takes the subgradient 0"),
        _ruled(
            "(z^2).backward() at 1j",
            lambda: (torch.tensor(1j, requires_grad=True) ** 2).backward(),  # type: ignore[no-untyped-call]
            "a complex output has no direction of ascent: take its real part, or give grad_outputs",
        ),
    ]
