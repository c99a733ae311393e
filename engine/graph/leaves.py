"""The leaf table: what every parameter, input and named tensor got from backward, or why it got nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from engine.graph.spec import Graph, Leaf, OwnerKind, PyTorchError
from engine.graph.texts import NAMES

Why = Literal["", "not_run", "frozen", "not_leaf", "no_path", "detached", "inference", "unused", "no_grad", "error"]
Reason = tuple[Why, str]

_PART = 1 << 16
"""Elements whose double-precision copy stays in a processor's cache."""


class Cut(NamedTuple):
    """Where the model spec takes tensors off the graph: code, place in words, and which modules lie before it."""

    why: Why
    place: str
    covers: Callable[[str], bool]


class Backward(NamedTuple):
    """What is known once backward has run, or has not."""

    ran: bool
    error: PyTorchError | None
    calls: Mapping[str, int]
    cut: Cut | None
    uses: Mapping[tuple[str, str], int]


def leaf_table(
    model: nn.Module, inputs: Mapping[str, torch.Tensor], extra: Mapping[str, torch.Tensor], backward: Backward
) -> tuple[Leaf, ...]:
    """One row per parameter, input and named tensor, in that order."""
    return tuple(_row(name, kind, tensor, backward) for name, kind, tensor in _tensors(model, inputs, extra))


def uses_of(graph: Graph, ids: Mapping[Any, int], extra: Mapping[str, torch.Tensor]) -> dict[tuple[str, str], int]:
    """(kind, name) -> edges of the graph that end in that leaf or that named output."""
    named = {name: (ids.get(tensor.grad_fn), tensor.output_nr) for name, tensor in extra.items()}
    leaves = [node for node, kind in enumerate(graph.node_kinds) if kind == "leaf"]
    into = _edges_into({*leaves, *(number for number, _ in named.values() if number is not None)}, graph)
    found = {("leaf", graph.node_variables[node]): into[node, 0] for node in leaves}
    for name, place in named.items():
        found["intermediate", name] = into[place]
    return found


def _edges_into(nodes: set[int], graph: Graph) -> Counter[tuple[int | None, int]]:
    """Edges into each input of these nodes."""
    targets = graph.edge_targets
    edges = np.flatnonzero(np.isin(targets, list(nodes)))
    return Counter(zip(targets[edges].tolist(), graph.edge_input_nrs[edges].tolist(), strict=True))


def _tensors(
    model: nn.Module, inputs: Mapping[str, torch.Tensor], extra: Mapping[str, torch.Tensor]
) -> Iterator[tuple[str, OwnerKind, torch.Tensor]]:
    for name, parameter in model.named_parameters():
        yield name, "parameter", parameter
    for name, tensor in inputs.items():
        yield name, "input", tensor
    for name, tensor in extra.items():
        yield name, "intermediate", tensor


def _row(name: str, kind: OwnerKind, tensor: torch.Tensor, backward: Backward) -> Leaf:
    uses = backward.uses.get(("intermediate" if kind == "intermediate" else "leaf", name), 0)
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    got: Reason = "", _uses_in_words(uses)
    why, explanation = got if grad is not None else _reason(name, kind, tensor, uses, backward)
    return Leaf(
        name,
        kind,
        tuple(tensor.shape),
        NAMES[tensor.dtype],
        tensor.requires_grad,
        tensor.is_leaf,
        uses,
        None if grad is None else gradient_norm(grad),
        "" if grad is None else NAMES[grad.dtype],
        "" if grad is None else str(grad.layout).removeprefix("torch."),
        why,
        explanation,
    )


def gradient_norm(grad: torch.Tensor) -> float:
    """2-norm in double precision (single where the device has no double); NaN and inf pass through."""
    dense = grad.detach()
    if dense.layout is torch.sparse_coo:
        dense = dense.coalesce().values()
    elif dense.layout is not torch.strided:
        dense = dense.values()
    if dense.device.type == "mps":
        return float(torch.linalg.vector_norm(dense))
    wide = torch.complex128 if dense.is_complex() else torch.float64
    # In parts: with another dtype vector_norm first copies all it is given. Norms made one by one would lie between
    # these copies in the heap, so that none could take the place of the one before.
    parts = torch.split(dense.flatten(), _PART)
    norms = torch.empty(len(parts), dtype=torch.float64, device=dense.device)
    for part, norm in zip(parts, norms, strict=True):
        torch.linalg.vector_norm(part, dtype=wide, out=norm)
    return float(norms[0] if len(parts) == 1 else torch.linalg.vector_norm(norms))


def _uses_in_words(uses: int) -> str:
    if uses == 0:
        return "gradient present, but no edge of the graph ends here: a recomputed part used it"
    return "used once" if uses == 1 else f"used {uses} times: .grad is the sum over all uses"


def _reason(name: str, kind: OwnerKind, tensor: torch.Tensor, uses: int, backward: Backward) -> Reason:
    if tensor.is_inference():
        return "inference", "made under inference_mode: autograd cannot record it, and .grad stays None"
    if not tensor.is_leaf:
        return "not_leaf", _not_leaf(tensor)
    if not tensor.requires_grad:
        return _requires_no_grad(kind, tensor, backward)
    if not backward.ran and backward.error is None:
        return "not_run", "backward was not run"
    return _no_gradient(name, kind, uses, backward)


def _not_leaf(tensor: torch.Tensor) -> str:
    try:
        maker = tensor.grad_fn.name() if tensor.grad_fn is not None else "an operation"
    except RuntimeError as error:
        maker = f"an operation whose grad_fn cannot be read ({error})"
    return f"not a leaf: made by {maker}; backward keeps .grad of leaves only. Call retain_grad() before backward."


def _requires_no_grad(kind: OwnerKind, tensor: torch.Tensor, backward: Backward) -> Reason:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return "frozen", f"requires_grad is False: {NAMES[tensor.dtype]} tensors cannot require a gradient"
    if kind == "parameter":
        return "frozen", "requires_grad is False: this parameter is frozen"
    if kind == "input":
        return "frozen", "requires_grad is False: nothing asked for a gradient of this input"
    if backward.cut is not None:
        return backward.cut.why, f"requires_grad is False: {backward.cut.place}"
    return "no_path", "requires_grad is False: made from tensors that need no gradient, or detached"


def _no_gradient(name: str, kind: OwnerKind, uses: int, backward: Backward) -> Reason:
    module = name.rpartition(".")[0]
    if kind == "parameter" and not uses and not _ran(module, backward.calls):
        return "unused", f"unused: {module or 'the model'} did not run in this forward"
    if not uses and backward.cut is not None and backward.cut.covers(module if kind == "parameter" else ""):
        return backward.cut.why, backward.cut.place
    if backward.error is not None:
        return "error", f"{backward.error.stage} stopped with {backward.error.type} before a gradient arrived"
    if uses:
        return "no_path", "backward reached it with no gradient: every path passed None, or none starts at the loss"
    return "no_path", "no path: the loss does not depend on it"


def _ran(module: str, calls: Mapping[str, int]) -> bool:
    return not calls or module in calls
