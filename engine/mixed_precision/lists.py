"""Which operators autocast knows on a device, from the dispatcher, and what it does to their inputs, tried out here."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from engine import recorded
from engine.mixed_precision.recorder import dtype_of
from engine.mixed_precision.results import ListedOperator, Policy
from engine.recorded_mixed_precision import autocast_operators, cast_operator, operator_named, required_arguments

SIDE = 2
Dtypes = Callable[[], torch.dtype]


class KernelReachedError(Exception):
    """Raised where an operator is about to compute: its casts have happened by then."""


class _CastsOnly(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Lets casts through and notes them; stops at anything else, so that no kernel ever runs on made-up arguments."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.casts: list[tuple[str, str]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not cast_operator:
            raise KernelReachedError
        copy = func(*args, **(kwargs or {}))
        self.casts.append((dtype_of(args[0]), dtype_of(copy)))
        return copy


def base_name(name: str) -> str:
    """Without the overload: "aten::conv2d.padding" is "aten::conv2d"."""
    return name.partition(".")[0]


@cache
def known_operators(device: str) -> frozenset[str]:
    """Names without overload of the operators with an autocast kernel for `device`."""
    return frozenset(map(base_name, autocast_operators(device)))


def probe_operators(device: str, dtype: str) -> tuple[ListedOperator, ...]:
    """Every overload with an autocast kernel, by name, with what it did to float32, low-precision and mixed inputs."""
    return tuple(probe_operator(name, device, dtype) for name in sorted(autocast_operators(device)))


@cache
def policy_of(name: str, device: str, dtype: str) -> Policy:
    """What autocast does to the inputs of an operator, by its name without overload."""
    found = [one for one in autocast_operators(device) if base_name(one) == name]
    if not found:
        return "not registered"
    return probe_operator(min(found), device, dtype).policy


@cache
def probe_operator(name: str, device: str, dtype: str) -> ListedOperator:
    """Call one overload with small tensors until its casts are done; nothing is computed, so no shape has to fit."""
    low = getattr(torch, dtype)
    runs = [_casts_of(name, device, low, first, rest) for first, rest in _pairs(low)]
    return ListedOperator(
        name=name,
        policy=_policy(runs, dtype),
        from_float32=_words(runs[0]),
        from_low=_words(runs[1]),
        from_mixed=_words(runs[2]),
    )


def _pairs(low: torch.dtype) -> tuple[tuple[torch.dtype, torch.dtype], ...]:
    return (torch.float32, torch.float32), (low, low), (low, torch.float32)


def _casts_of(name: str, device: str, low: torch.dtype, first: torch.dtype, rest: torch.dtype) -> list[tuple[str, str]]:
    operator, made = operator_named(name), 0

    def tensor() -> torch.Tensor:
        nonlocal made
        made += 1
        return torch.ones(SIDE, SIDE, dtype=first if made == 1 else rest, device=device)

    values = [(argument, _value(kind, tensor), named) for argument, kind, named in required_arguments(operator)]
    positional = [value for _, value, named in values if not named]
    by_name = {argument: value for argument, value, named in values if named}
    with warnings.catch_warnings(), torch.autocast(device, dtype=low, cache_enabled=False), _CastsOnly() as mode:
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception):  # that arguments do not fit is expected: the casts come before
            operator(*positional, **by_name)
    casts: list[tuple[str, str]] = mode.casts
    return casts


def _value(kind: str, tensor: Callable[[], torch.Tensor]) -> Any:
    """Something of a schema's type."""
    if kind == "Tensor":
        return tensor()
    if kind == "List[Tensor]":
        return [tensor(), tensor()]
    if kind.startswith("Optional"):
        return None
    if kind.startswith("List"):
        return [1, 1]
    return {"float": 1.0, "bool": False, "str": "fro"}.get(kind, 1)


def _policy(runs: list[list[tuple[str, str]]], low: str) -> Policy:
    """Only the first cast counts: what follows belongs to the operator's own computation."""
    full, half, mixed = (run[:1] for run in runs)
    if full == [("float32", low)]:
        return "low precision"
    if half == [(low, "float32")]:
        # Attention on the CPU computes in float32 inside: told by what it does to float32 alone.
        return "low precision" if (low, "float32") in runs[0] else "float32"
    return "widest" if mixed == [(low, "float32")] else "no cast seen"


def _words(casts: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{source} → {target}" for source, target in casts)
