"""Time of a step plain and under autocast, and of its matrix products and casts alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from engine import recorded
from engine.gradients.leaves import clear
from engine.mixed_precision.recorder import dtype_of
from engine.mixed_precision.spec import AutocastTiming, AutocastTimingSpec
from engine.mixed_precision.support import probe_support
from engine.models.build import Built, build
from engine.pytorch_said import attempt
from engine.recorded_mixed_precision import cast_operator, processor_support
from engine.runner.contract import ProgressSink
from engine.timing import compare
from engine.timing.comparison import Comparison

PLAIN = "plain"
BUDGET_S = 45.0
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward", "mkldnn_rnn_layer")
Call = tuple[Any, tuple[Any, ...], dict[str, Any]]
Context = Callable[[], AbstractContextManager[Any]]


class _Kept(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Keeps matrix products and casts with their arguments, so that they can run again by themselves."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.products: list[Call] = []
        self.casts: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        outputs = func(*args, **kwargs)
        if func.overloadpacket.__name__ in PRODUCTS:
            self.products.append((func, args, kwargs))
        elif func is cast_operator and outputs.dtype != args[0].dtype:
            self.casts.append((func, args, kwargs))
        return outputs


def time_steps(spec: AutocastTimingSpec, progress: ProgressSink) -> AutocastTiming:
    """Forward with loss and backward, plain against every dtype that works here; then their parts in `spec.dtype`."""
    progress("building the model", 0.0)
    built, support = build(spec.model), probe_support(spec.model.device)
    works = [one.dtype for one in support if one.works]
    contexts: dict[str, Context] = {PLAIN: nullcontext}
    contexts |= {f"autocast {dtype}": _context(spec.model.device, dtype) for dtype in works}
    steps, error = attempt(lambda: _compare_steps(spec, built, contexts, progress))
    kept: list[_Kept] = []
    parts = None
    if steps is not None and spec.dtype in works:
        kept = [_keep(built, context) for context in (nullcontext, _context(spec.model.device, spec.dtype))]
        parts, error = attempt(lambda: _compare_parts(spec, kept, progress))
    return AutocastTiming(
        steps=steps,
        parts=parts,
        products=len(kept[1].products) if kept else 0,
        casts=len(kept[1].casts) if kept else 0,
        support=support,
        processor=tuple((name, str(value)) for name, value in processor_support()),
        error=error,
    )


def _context(device: str, dtype: str) -> Context:
    return lambda: torch.autocast(device, dtype=getattr(torch, dtype))


def _compare_steps(
    spec: AutocastTimingSpec, built: Built, contexts: dict[str, Context], progress: ProgressSink
) -> Comparison:
    def step(context: Context) -> Callable[[], object]:
        return lambda: _step(built, context)

    return compare(
        {name: step(context) for name, context in contexts.items()},
        rounds=spec.rounds,
        warm_up_rounds=1,
        device="" if spec.model.device == "cpu" else spec.model.device,
        budget_s=BUDGET_S,
        on_progress=lambda stage, fraction: progress(f"steps: {stage}", 0.7 * fraction),
    )


def _step(built: Built, context: Context) -> None:
    clear(built)
    with context():
        loss = built.loss(built.forward())
    loss.backward()  # type: ignore[no-untyped-call]


def _keep(built: Built, context: Context) -> _Kept:
    with _Kept() as kept:
        _step(built, context)
    clear(built)
    found: _Kept = kept
    return found


def _compare_parts(spec: AutocastTimingSpec, kept: list[_Kept], progress: ProgressSink) -> Comparison | None:
    plain, under = kept
    calls = {f"matrix products {_dtype_in(plain)}": plain.products, f"matrix products {spec.dtype}": under.products}
    calls |= {"casts": under.casts}
    calls = {name: those for name, those in calls.items() if those}
    if len(calls) < 2:
        return None
    return compare(
        {name: _again(those) for name, those in calls.items()},
        rounds=spec.rounds,
        warm_up_rounds=1,
        device="" if spec.model.device == "cpu" else spec.model.device,
        budget_s=BUDGET_S,
        on_progress=lambda stage, fraction: progress(f"parts: {stage}", 0.7 + 0.3 * fraction),
    )


def _dtype_in(kept: _Kept) -> str:
    return next((dtype_of(one) for _, args, _ in kept.products for one in args if isinstance(one, torch.Tensor)), "")


def _again(calls: list[Call]) -> Callable[[], object]:
    def run() -> None:
        with torch.no_grad():
            for func, args, kwargs in calls:
                func(*args, **kwargs)

    return run
