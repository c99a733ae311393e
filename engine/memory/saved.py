"""What every node behind some tensors has saved for backward, read without unpacking anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from engine import recorded, recorded_memory
from engine.graph.release import release_iteratively
from engine.graph.roots import named_tensors


def saved_tensors(roots: Iterable[torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    """("GeluBackward0.self", tensor) for every saved slot, and for what checkpoints and policies keep instead.

    Slots that backward has freed give nothing. What a custom Function put on its `ctx` without `save_for_backward`
    counts too: backward never frees that; and so do Python numbers, 8 bytes that no saved-tensor hook is called for.
    """
    nodes, counts, targets = _discover(roots)
    frames: set[int] = set()
    for node in nodes:
        layout = recorded.layout_of(node)
        if layout.slots:
            name = layout.name or node.name()
            for slot, raw in _slots(node, layout):
                yield from _kept(f"{name}.{slot}", raw, frames)
        if layout.custom:
            yield from _attributes(node, layout.name or node.name())
    release_iteratively(nodes, counts, targets)


def _discover(roots: Iterable[torch.Tensor]) -> tuple[list[Any], list[int], list[int]]:
    """Nodes breadth first, how many slots each has, and where these lead (-1 for nowhere)."""
    starts = [tensor.grad_fn for tensor in roots if not tensor.is_inference()]
    nodes = list(dict.fromkeys(node for node in starts if node is not None))
    numbers = {node: number for number, node in enumerate(nodes)}
    counts, targets = [], []
    for node in nodes:
        following = recorded.read_next(node)
        counts.append(len(following))
        for target, _ in following:
            number = -1 if target is None else numbers.setdefault(target, len(nodes))
            if number == len(nodes):
                nodes.append(target)
            targets.append(number)
    return nodes, counts, targets


def _slots(node: Any, layout: recorded.NodeLayout) -> Iterator[tuple[str, Any]]:
    """(name, raw slot) of a node; lists are `name[index]`."""
    try:
        held = layout.read_slots(node)
    except RuntimeError:  # backward has freed a list
        return
    for slot, raw in zip(layout.slots, held if len(layout.slots) > 1 else (held,), strict=True):
        if isinstance(raw, tuple):
            yield from ((slot.at(index).name, one) for index, one in enumerate(raw))
        else:
            yield slot.name, raw


def _kept(name: str, raw: Any, frames: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    hook, tensor = recorded.read_raw(raw)
    if hook is None:
        if tensor is not None:
            is_number = tensor.dim() == 0 and recorded.is_python_number(tensor)
            yield f"{name} (a Python number)" if is_number else name, tensor
    elif (frame := recorded_memory.frame_of(hook)) and frame not in frames:
        frames.add(frame)
        yield from recorded_memory.kept_by_checkpoint(hook)
    elif not frame and isinstance(tensor, torch.Tensor):
        yield f"{name} (packed)", tensor


def _attributes(node: Any, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors on the `ctx` of a custom Function; of a reentrant checkpoint the random number state it will restore."""
    for key, value in vars(node).items():
        for path, tensor in named_tensors(value, f"{name}.{key}"):
            if isinstance(tensor, torch.Tensor):
                yield path, tensor
