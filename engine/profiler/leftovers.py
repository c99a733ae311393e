"""What refers to a block that is still alive at the end, by the address of its storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from engine.graph.release import DEEP
from engine.recorded import layout_of, parts, read_raw


def names_by_address(named: Iterable[tuple[str, torch.Tensor]]) -> dict[int, str]:
    """Address of the storage -> the first name that refers to it; what a graph still saved comes last.

    Of a graph of more than DEEP nodes nothing is read.
    """
    found: dict[int, str] = {}
    tensors = list(named)
    for name, tensor in tensors:
        for address in _addresses(tensor):
            found.setdefault(address, name)
    for name, tensor in _saved([tensor.grad_fn for _, tensor in tensors]):
        for address in _addresses(tensor):
            found.setdefault(address, name)
    return found


def _addresses(tensor: torch.Tensor) -> tuple[int, ...]:
    dense = (tensor,) if tensor.layout == torch.strided else parts(tensor)
    return tuple(one.untyped_storage().data_ptr() for one in dense)


def _saved(roots: list[Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """(node.slot, tensor) for every saved tensor that no hook has packed."""
    nodes, waiting = dict[Any, None](), [node for node in roots if node is not None]
    while waiting:
        node = waiting.pop()
        if node in nodes:
            continue
        if len(nodes) >= DEEP:
            return
        nodes[node] = None
        waiting += [following for following, _ in node.next_functions if following is not None]
    for node in nodes:
        yield from _slots(node)


def _slots(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for slot in layout_of(node).slots:
        try:
            raw = getattr(node, slot.raw)
        except RuntimeError:  # backward has freed a list
            continue
        for one in raw if isinstance(raw, list | tuple) else (raw,):
            hook, tensor = read_raw(one)
            if hook is None and tensor is not None:
                yield f"{node.name()}.{slot.name} (saved for backward)", tensor
