"""Running a ModelSpec once in this process, by the engine's builder alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from engine.models.build import Built, build
from engine.models.spec import ModelSpec


def nodes_behind(*tensors: torch.Tensor) -> list[Any]:
    """Every autograd node reachable, each once."""
    found, waiting = {}, [tensor.grad_fn for tensor in tensors]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found[node] = True
            waiting += [following for following, _ in node.next_functions]
    return list(found)


def node_names(*tensors: torch.Tensor) -> Counter[str]:
    return Counter(node.name() for node in nodes_behind(*tensors))


def gradients(spec: ModelSpec) -> tuple[torch.Tensor, dict[str, torch.Tensor | None]]:
    """(loss, gradient of every parameter and floating point input by name) of one fresh forward and backward."""
    built = build(spec)
    loss = built.loss(built.forward())
    loss.backward()
    return loss.detach(), gradients_of(built)


def gradients_of(built: Built) -> dict[str, torch.Tensor | None]:
    leaves = [*built.model.named_parameters(), *built.inputs.items()]
    return {name: None if leaf.grad is None else leaf.grad.to_dense() for name, leaf in leaves}


def held_bytes(spec: ModelSpec, count_parameters: bool = False) -> int:
    """Bytes of the storages one forward and loss save, seen by outer saved_tensors_hooks, each once."""
    built = build(spec)
    owned = {id(s): s for p in built.model.parameters() for s in [p.untyped_storage()]}
    seen: dict[int, Any] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen[id(tensor.untyped_storage())] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        built.loss(built.forward())
    return sum(s.nbytes() for key, s in seen.items() if count_parameters or key not in owned)


def assert_same(
    first: dict[str, torch.Tensor | None], second: dict[str, torch.Tensor | None], tolerance: float = 0
) -> None:
    """Gradients bit-identical, or within an absolute tolerance; the missing ones missing in both."""
    assert first.keys() == second.keys()
    for name, gradient in first.items():
        other = second[name]
        assert (gradient is None) == (other is None), name
        if gradient is not None and other is not None:
            torch.testing.assert_close(other, gradient, rtol=0, atol=tolerance, equal_nan=True, msg=name)
