"""Gradients and loss of one run, compared bit for bit with those of another."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from engine.models.build import Built

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32}


class Gradients(NamedTuple):
    """The loss, the gradient of every parameter and input that requires one (None: backward brought none), buffers."""

    loss: torch.Tensor | None
    of: dict[str, torch.Tensor | None]
    buffers: dict[str, torch.Tensor]


def take_gradients(built: Built, loss: torch.Tensor | None) -> Gradients:
    """What is in `.grad` now, taken away: the model has none afterwards."""
    named = [*built.model.named_parameters(), *built.inputs.items()]
    taken = {name: leaf.grad for name, leaf in named if leaf.requires_grad and leaf.is_leaf}
    for _, leaf in named:
        leaf.grad = None
    buffers = {name: buffer.clone() for name, buffer in built.model.named_buffers()}
    return Gradients(None if loss is None else loss.detach(), taken, buffers)


def compared(found: Gradients, off: Gradients) -> dict[str, Any]:
    """The fields of Outcome that say how far `found` is from `off`."""
    pairs = {name: (found.of[name], grad) for name, grad in off.of.items()}
    both = {name: (a, b) for name, (a, b) in pairs.items() if a is not None and b is not None}
    missing = tuple(name for name, (a, b) in pairs.items() if a is None and b is not None)
    counts = {name: differing_elements(a, b) for name, (a, b) in both.items()}
    buffers = [name for name, before in off.buffers.items() if differing_elements(found.buffers[name], before)]
    differing = [name for name, (a, b) in pairs.items() if counts.get(name) or (a is None) != (b is None)]
    return {
        "loss_identical": _same(found.loss, off.loss),
        "gradients_identical": not differing,
        "differing": tuple(differing),
        "missing": missing,
        "differing_buffers": tuple(buffers),
        "differing_elements": sum(counts.values()),
        "gradient_elements": sum(b.numel() for _, b in both.values()),
        "largest_difference": max(
            (_apart(*both[name]) if count else 0.0 for name, count in counts.items()), default=None
        ),
    }


def _same(a: torch.Tensor | None, b: torch.Tensor | None) -> bool | None:
    return None if a is None or b is None else not differing_elements(a, b)


def differing_elements(a: torch.Tensor, b: torch.Tensor) -> int:
    """Elements whose bits are not the same, -0.0 and 0.0 told apart, a NaN equal to itself; of one shape."""
    x, y = _bits(a), _bits(b)
    return 0 if torch.equal(x, y) else int((x != y).any(dim=-1).sum())


def _bits(x: torch.Tensor) -> torch.Tensor:
    """(elements, integers that hold the bits of one)."""
    dense = (x.to_dense() if x.layout != torch.strided else x).detach().resolve_conj().contiguous()
    return dense.reshape(-1, 1).view(_INTEGERS.get(dense.element_size(), torch.int64))


def _apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """||a - b|| / ||b||, in double precision; infinite where b is zero and a is not."""
    a, b = (x.detach().to_dense() if x.layout != torch.strided else x.detach() for x in (a, b))
    wide = torch.promote_types(b.dtype, torch.float64)
    apart, norm = (float(torch.linalg.vector_norm(x, dtype=wide)) for x in (a.to(wide) - b.to(wide), b))
    return apart / norm if norm else (float("inf") if apart else 0.0)
