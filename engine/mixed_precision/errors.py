"""How far a run under autocast is from the plain one: outputs, every module's output, every gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn

from engine.gradients.leaves import wide
from engine.mixed_precision.recorder import dtype_of, tensors_in
from engine.mixed_precision.results import Apart, LayerError
from engine.recorded_mixed_precision import without_modes

Context = Callable[[], AbstractContextManager[Any]]
Key = tuple[str, int]
"""Path of a module and number of its call."""


def apart(name: str, a: torch.Tensor | None, b: torch.Tensor | None) -> Apart:
    """Tensor `b`, under autocast, against `a` of the plain run, in float64."""
    if a is None or b is None:
        where = [side for side, one in (("the plain run", a), ("autocast", b)) if one is None]
        return Apart(name=name, missing=f"none in {' and '.join(where)}")
    dtypes = dtype_of(a), dtype_of(b)
    if a.shape != b.shape:
        return Apart(name=name, dtypes=dtypes, missing=f"{tuple(a.shape)} plain, {tuple(b.shape)} under autocast")
    if not (a.is_floating_point() or a.is_complex()):
        return Apart(name=name, dtypes=dtypes, missing=f"{dtypes[0]}: no rounding")
    return _apart(name, dtypes, wide(a), wide(b))


def _apart(name: str, dtypes: tuple[str, str], a: torch.Tensor, b: torch.Tensor) -> Apart:
    lost = int((a.isfinite() & ~b.isfinite()).sum())
    both = a.isfinite() & b.isfinite()
    x, y = a[both], b[both]
    norm, other, far = (float(one.norm()) for one in (x, y, y - x))
    turned = None
    if norm and other:
        # 1 - cosine from the distance of the unit vectors: no digits are lost where both point almost the same way.
        turned = float((x / norm - y / other).square().sum()) / 2
    return Apart(
        name=name,
        dtypes=dtypes,
        relative=far / norm if norm else (0.0 if far == 0 else None),
        turned=turned,
        largest=float((y - x).abs().max()) if x.numel() else None,
        norm=norm,
        not_finite=lost,
        to_zero=int(((a != 0) & (b == 0)).sum()),
        elements=a.numel(),
        missing="" if norm or far == 0 else "the plain run's is all 0",
    )


def all_apart(pairs: Mapping[str, tuple[torch.Tensor | None, torch.Tensor | None]]) -> Apart:
    """Every pair with values in both as one long vector."""
    kept = [(a, b) for a, b in pairs.values() if a is not None and b is not None and a.shape == b.shape]
    if not kept:
        return Apart(name="all", missing="no gradient in both runs")
    firsts, seconds = (torch.cat([wide(one) for one in side]) for side in zip(*kept, strict=True))
    return _apart("all", ("", ""), firsts, seconds)


class Outputs:
    """The first tensor of what each module returned, by path and call; `own` also reruns modules without children."""

    def __init__(self, alone_under: Context | None = None) -> None:
        self.found: dict[Key, torch.Tensor] = {}
        self.own: dict[Key, torch.Tensor] = {}
        self.types: dict[str, str] = {}
        self._calls: dict[str, int] = {}
        self._alone_under = alone_under

    @contextmanager
    def watch(self, model: nn.Module) -> Iterator[Outputs]:
        """Note the outputs of every module of `model` below it while the block runs."""
        handles = []
        for path, module in model.named_modules():
            if path:
                self.types[path] = type(module).__name__
                handles += self._hook(path, module)
        try:
            yield self
        finally:
            for handle in handles:
                handle.remove()

    def _hook(self, path: str, module: nn.Module) -> list[Any]:
        is_leaf = next(module.children(), None) is None

        def before(module: nn.Module, args: Any, kwargs: Any) -> None:
            self._calls[path] = self._calls.get(path, 0) + 1
            if is_leaf and self._alone_under is not None:
                with without_modes():
                    self._run_alone((path, self._calls[path]), module, args, kwargs)

        def after(module: nn.Module, args: Any, outputs: Any) -> None:
            given = next(tensors_in(_values(outputs)), None)
            if given is not None:
                with without_modes():
                    # An operation in place may follow, so what the module returned is kept as it is now.
                    self.found[path, self._calls[path]] = given.detach().clone()

        return [
            module.register_forward_pre_hook(before, with_kwargs=True),
            module.register_forward_hook(after),
        ]

    def _run_alone(self, key: Key, module: nn.Module, args: Any, kwargs: Any) -> None:
        """On copies of its inputs and buffers, and with the random numbers that its real call will draw again."""
        assert self._alone_under is not None
        state, buffers = torch.get_rng_state(), dict(module.named_buffers(recurse=False))
        given = None
        try:
            with torch.no_grad(), self._alone_under():
                for name, buffer in buffers.items():
                    setattr(module, name, buffer.clone())
                outputs = module.forward(*copied(args), **{name: copied(one) for name, one in kwargs.items()})
                given = next(tensors_in(_values(outputs)), None)
        except RuntimeError:
            given = None  # what it says is shown where the whole run says it
        finally:
            torch.set_rng_state(state)
            for name, buffer in buffers.items():
                setattr(module, name, buffer)
        if given is not None:
            self.own[key] = given.detach()


def copied(value: Any) -> Any:
    """The same nested tuples and lists with every tensor copied, so that nothing done in place comes back."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return type(value)(map(copied, value)) if type(value) in (tuple, list) else value


def _values(outputs: Any) -> tuple[Any, ...]:
    return tuple(outputs.values()) if isinstance(outputs, dict) else (outputs,)


def layer_errors(plain: Outputs, other: Outputs) -> tuple[LayerError, ...]:
    """One row per call of a module, in the order in which the calls ended."""
    return tuple(
        LayerError(
            path=path,
            type=plain.types[path],
            call=number,
            all_before=apart(path, tensor, other.found.get((path, number))),
            own=apart(path, tensor, plain.own[path, number]) if (path, number) in plain.own else None,
        )
        for (path, number), tensor in plain.found.items()
    )
