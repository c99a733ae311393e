"""How far a run under autocast is from the plain one: outputs, every module's output, every gradient."""

from __future__ import annotations

import math
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
PART = 1 << 18
Key = tuple[str, int]
"""Path of a module and number of its call."""


def apart(name: str, a: torch.Tensor | None, b: torch.Tensor | None, total: Sums | None = None) -> Apart:
    """Tensor `b`, under autocast, against `a` of the plain run, in float64; adds to `total` where both have values."""
    if a is None or b is None:
        where = [side for side, one in (("the plain run", a), ("autocast", b)) if one is None]
        return Apart(name=name, missing=f"none in {' and '.join(where)}")
    dtypes = dtype_of(a), dtype_of(b)
    if a.shape != b.shape:
        return Apart(name=name, dtypes=dtypes, missing=f"{tuple(a.shape)} plain, {tuple(b.shape)} under autocast")
    if not (a.is_floating_point() or a.is_complex()):
        return Apart(name=name, dtypes=dtypes, missing=f"{dtypes[0]}: no rounding")
    sums = Sums()
    sums.add(a, b)
    if total is not None:
        total.merge(sums)
    return sums.apart(name, dtypes)


class Sums:
    """What the distance of two vectors needs, added up over their parts; where either is not finite is left out."""

    def __init__(self) -> None:
        self.squares_a = self.squares_b = self.squares_apart = self.largest = 0.0
        self.not_finite = self.to_zero = self.elements = self.compared = 0

    def add(self, a: torch.Tensor, b: torch.Tensor) -> None:
        """Two tensors of one shape, in float64, a part at a time: of both whole ones that would be much memory."""
        one, other = (torch.split(flat(tensor), PART) for tensor in (a, b))
        for x, y in zip(one, other, strict=True):
            self._add_part(wide(x), wide(y))

    def _add_part(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.elements += x.numel()
        self.to_zero += int(((x != 0) & (y == 0)).sum())
        difference = y - x
        largest = float(difference.abs().max()) if difference.numel() else 0.0
        if not math.isfinite(largest):
            both = x.isfinite() & y.isfinite()
            self.not_finite += int((x.isfinite() & ~y.isfinite()).sum())
            x, y = x[both], y[both]
            difference = y - x
            largest = float(difference.abs().max()) if difference.numel() else 0.0
        self.compared += x.numel()
        self.squares_a += float(x @ x)
        self.squares_b += float(y @ y)
        self.squares_apart += float(difference @ difference)
        self.largest = max(self.largest, largest)

    def merge(self, other: Sums) -> None:
        """Add what another has added."""
        for name in ("squares_a", "squares_b", "squares_apart", "not_finite", "to_zero", "elements", "compared"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)

    def apart(self, name: str, dtypes: tuple[str, str] = ("", "")) -> Apart:
        """Of everything added."""
        norm, other, far = (math.sqrt(one) for one in (self.squares_a, self.squares_b, self.squares_apart))
        turned = None
        if norm and other:
            # ||b - a||^2 = (||b|| - ||a||)^2 + 2 ||a|| ||b|| (1 - cosine): no digits are lost where it is small.
            turned = max(0.0, self.squares_apart - (other - norm) ** 2) / (2 * norm * other)
        return Apart(
            name=name,
            dtypes=dtypes,
            relative=far / norm if norm else (0.0 if far == 0 else None),
            turned=turned,
            largest=self.largest if self.compared else None,
            norm=norm,
            not_finite=self.not_finite,
            to_zero=self.to_zero,
            elements=self.elements,
            missing="" if norm or far == 0 else "the plain run's is all 0",
        )


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """All values as one vector in their own dtype; sparse ones dense, complex ones as pairs of numbers."""
    dense = tensor.detach() if tensor.layout == torch.strided else tensor.detach().to_dense()
    return (torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense).reshape(-1)


def gradients_apart(
    plain: Mapping[str, torch.Tensor | None], other: Mapping[str, torch.Tensor | None]
) -> tuple[tuple[Apart, ...], Apart]:
    """Every gradient, and all that both runs have as one long vector."""
    total = Sums()
    rows = tuple(apart(name, grad, other.get(name), total) for name, grad in plain.items())
    if not total.elements:
        return rows, Apart(name="all", missing="no gradient in both runs")
    return rows, total.apart("all")


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
            own=_own(path, tensor, plain.own[path, number], other.found.get((path, number)))
            if (path, number) in plain.own
            else None,
        )
        for (path, number), tensor in plain.found.items()
    )


def _own(path: str, plain: torch.Tensor, alone: torch.Tensor, run: torch.Tensor | None) -> Apart:
    """What a module adds; not measured where its input is cast before it, and not by autocast on its behalf."""
    if run is not None and plain.dtype == alone.dtype != run.dtype:
        told = f"{dtype_of(plain)} comes in alone, and autocast casts nothing; the whole run gives {dtype_of(run)}"
        return Apart(name=path, dtypes=(dtype_of(plain), dtype_of(alone)), missing=f"not measured: {told}")
    return apart(path, plain, alone)
