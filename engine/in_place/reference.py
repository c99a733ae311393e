"""The gradient that a program asks for: its forward run with a copy of every saved tensor, taken as it is saved.

A saved tensor behind hooks has no version to compare, and a copy no write can reach: backward does not raise, and gives
the derivative of what was computed. Only values are kept here, and none of them leaves the run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from typing import Any, NamedTuple

import torch

from engine.in_place.evaluate import LARGEST_RESULT, Evaluator, TooLargeError, entered
from engine.in_place.language import parse_program
from engine.pytorch_said import attempt

Values = Mapping[str, torch.Tensor]
GRAD = ".grad"
ROUNDINGS = 64
"""Roundings of the dtype by which values may differ: copies are laid out anew, sums may take another order."""


class Observed(NamedTuple):
    """Values by name before every backward and at the end (`x.grad` among them), gradients asked of every root.

    `asked` holds, by root, the gradient of each named leaf; roots whose backward raises are left out.
    """

    moments: tuple[Values, ...]
    asked: Mapping[str, Values]
    is_whole: bool


def observe(text: str, seed: int, *, copying: bool) -> Observed:
    """Run a program for its values alone; `copying` saves a copy of every tensor that a node keeps."""
    torch.manual_seed(seed)
    names: dict[str, Any] = {}
    moments: list[Values] = []

    def backward(tensor: torch.Tensor, call: Callable[[], None]) -> None:
        moments.append(_values(names))
        call()

    evaluator = Evaluator(names, backward)
    is_whole = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.graph.saved_tensors_hooks(_copy, _as_it_is) if copying else nullcontext():
            for statement in parse_program(text):
                with ExitStack() as modes:
                    for mode in entered(statement.modes):
                        modes.enter_context(mode)
                    is_whole = _runs(lambda one=statement: evaluator.run(one))  # type: ignore[misc]
                if not is_whole:
                    break
            moments.append(_values(names))
            return Observed(tuple(moments), _asked(names), is_whole)


def _runs(call: Callable[[], None]) -> bool:
    try:
        return attempt(call, ours=(TooLargeError,))[1] is None
    except TooLargeError:
        return False


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()


def _as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _values(names: Mapping[str, Any]) -> Values:
    found: dict[str, torch.Tensor] = {}
    for name, tensor in names.items():
        if isinstance(tensor, torch.Tensor):
            found[name] = _narrowed(tensor.detach()).clone()
            grad, _ = attempt(lambda one=tensor: one.grad if one.is_leaf or one.retains_grad else None)  # type: ignore[misc]
            if grad is not None:
                found[f"{name}{GRAD}"] = grad.detach().clone()
    return found


def _narrowed(tensor: torch.Tensor) -> torch.Tensor:
    """Without what `expand` repeats: an expanded tensor can be larger than memory."""
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if size > 1 and stride == 0 and tensor.numel() > LARGEST_RESULT:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def roots(names: Mapping[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """Every name whose backward can be asked for, the newest first."""
    tensors = [(name, one) for name, one in reversed([*names.items()]) if isinstance(one, torch.Tensor)]
    return [(name, one) for name, one in tensors if one.numel() <= LARGEST_RESULT and has_node(one)]


def has_node(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a grad_fn; False where PyTorch refuses to tell."""
    return attempt(lambda: tensor.grad_fn)[0] is not None


def _asked(names: Mapping[str, Any]) -> dict[str, Values]:
    leaves = {
        name: one
        for name, one in names.items()
        if isinstance(one, torch.Tensor) and attempt(lambda t=one: _asks(t))[0]  # type: ignore[misc]
    }
    found: dict[str, Values] = {}
    for name, root in roots(names) if leaves else ():
        given, _ = attempt(lambda one=root: gradients(one, list(leaves.values())))  # type: ignore[misc]
        if given is not None:
            named = zip(leaves, given, strict=True)
            found[name] = {leaf: grad.clone() for leaf, grad in named if grad is not None}
    return found


def _asks(tensor: torch.Tensor) -> bool:
    return tensor.is_leaf and tensor.requires_grad


def gradients(root: torch.Tensor, leaves: list[torch.Tensor]) -> tuple[torch.Tensor | None, ...]:
    """d(root)/d(leaf) summed over the elements of `root`; graph and `.grad` stay as they are."""
    return torch.autograd.grad(root, leaves, torch.ones_like(root), retain_graph=True, allow_unused=True)


def gradients_agree(first: Observed, second: Observed) -> bool:
    """Whether two runs of one program have the same gradients: in `.grad`, and of every root that both could ask."""
    pairs = zip(first.moments, second.moments, strict=False)
    return all(_agree(_gradients(one), _gradients(two)) for one, two in pairs) and _asked_agree(first, second)


def agrees(first: Observed, second: Observed, *, at_the_end: bool = False) -> bool:
    """Whether two programs have the same values by name before every backward, at the end, and the same gradients.

    `at_the_end` leaves out the moments before backward, for an update that was moved behind it. Where the first
    program stopped, what it did up to its last backward is compared.
    """
    if not first.is_whole:
        return all(_agree(one, two) for one, two in zip(first.moments[:-1], second.moments[:-1], strict=False))
    if len(first.moments) != len(second.moments):
        return False
    kept = slice(-1, None) if at_the_end else slice(None)
    pairs = zip(first.moments[kept], second.moments[kept], strict=True)
    return all(_agree(one, two) for one, two in pairs) and _asked_agree(first, second)


def _gradients(values: Values) -> Values:
    return {name: one for name, one in values.items() if name.endswith(GRAD)}


def _asked_agree(first: Observed, second: Observed) -> bool:
    common = first.asked.keys() & second.asked.keys()
    return all(_agree_whole(first.asked[root], second.asked[root]) for root in common)


def _agree(first: Values, second: Values) -> bool:
    """Equal by name, for names of both; a gradient that only one has is a difference where both have its tensor."""
    common = first.keys() & second.keys()
    alone = (first.keys() ^ second.keys()) & {f"{name}{GRAD}" for name in common}
    return not alone and all(is_close(first[name], second[name]) for name in common)


def _agree_whole(first: Values, second: Values) -> bool:
    return first.keys() == second.keys() and all(is_close(first[name], second[name]) for name in first)


def is_close(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Equal up to ROUNDINGS of the largest value, NaN like NaN."""
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    if not first.dtype.is_floating_point:
        return torch.equal(first, second)
    finite = first[first.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    relative = ROUNDINGS * torch.finfo(first.dtype).eps
    return torch.allclose(second, first, rtol=relative, atol=relative * largest, equal_nan=True)
