"""What PyTorch refuses to write: an operand that would have to grow, an expanded one whose elements share memory."""

from __future__ import annotations

from collections.abc import Callable

import torch

from engine.broadcasting.operands import Value, build_operand, listen
from engine.broadcasting.results import ExpandedWrite, InPlace, Placed
from engine.broadcasting.spec import BroadcastSpec
from engine.pytorch_said import attempt

IN_PLACE = {"add": "add_", "sub": "sub_", "mul": "mul_"}


def try_in_place(spec: BroadcastSpec, device: str) -> tuple[InPlace, ...]:
    """`a.add_(b)` and `b.add_(a)`, each on fresh tensors without gradients; () for operations without such a form."""
    method = IN_PLACE.get(spec.operation)
    if method is None or len(spec.operands) != 2:
        return ()
    tried = []
    for target, other in ((0, 1), (1, 0)):
        if spec.operands[target].is_number:
            continue
        given = [_fresh(build_operand(operand, device)) for operand in spec.operands]
        code = f"{'ab'[target]}.{method}({'ab'[other]})"
        (_, error), _ = listen(lambda g=given, t=target, o=other: attempt(lambda: getattr(g[t], method)(g[o])))  # type: ignore[misc]
        tried.append(InPlace(code, error))
    return tuple(tried)


def _fresh(value: Value) -> Value:
    return value.detach() if isinstance(value, torch.Tensor) else value


def write_expanded(spec: BroadcastSpec, placed: tuple[Placed, ...]) -> tuple[ExpandedWrite, ...]:
    """Two writes into the first operand that was expanded to more elements than it has."""
    for operand, place in zip(spec.operands, placed, strict=True):
        shape = place.expanded_shape
        if operand.is_number or shape is None or 0 in shape or not (place.new_dims or place.stretched_dims):
            continue
        if shape == operand.shape:
            continue
        value = build_operand(operand, "cpu")
        assert isinstance(value, torch.Tensor)
        expanded = f"{place.name}.expand({', '.join(map(str, shape))})"
        first = ", ".join("0" * len(shape))
        writes: tuple[tuple[str, Callable[[torch.Tensor], object]], ...] = (
            (f"{expanded}.add_(1)", lambda tensor: tensor.add_(1)),
            (f"{expanded}[{first}] = 0", lambda tensor: tensor.__setitem__((0,) * tensor.dim(), 0)),
        )
        return tuple(_write(code, value.detach().clone().expand(shape), write) for code, write in writes)
    return ()


def _write(code: str, expanded: torch.Tensor, write: Callable[[torch.Tensor], object]) -> ExpandedWrite:
    before = expanded.clone()
    _, error = attempt(lambda: write(expanded))
    return ExpandedWrite(code, error, None if error else int((expanded != before).sum()))
