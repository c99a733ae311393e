"""Hooks: which are registered where, by name and origin; and one of every kind as an example."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch import nn

from engine import recorded
from engine.diagnostics.results import Hook
from engine.graph.wording import hook_name
from engine.recorded_diagnostics import hooks_of_module, hooks_of_tensor, saved_tensor_hook


class ExampleHooks:
    """One hook of every kind on the first module with parameters; each only counts how often it ran."""

    def __init__(self, model: nn.Module) -> None:
        self.calls: Counter[str] = Counter()
        self._handles: list[Any] = []
        owners = (one for one in model.modules() if next(one.parameters(recurse=False), None) is not None)
        module = next(owners, model)
        self._handles += [
            module.register_forward_pre_hook(self._counter("count_forward_pre")),
            module.register_forward_hook(self._counter("count_forward")),
            module.register_full_backward_pre_hook(self._counter("count_backward_pre")),
            module.register_full_backward_hook(self._counter("count_backward")),
        ]
        for parameter in list(module.parameters(recurse=False))[:1]:
            if parameter.requires_grad:
                self._handles.append(parameter.register_hook(self._counter("count_gradient")))  # type: ignore[no-untyped-call]
                after = self._counter("count_accumulated")
                self._handles.append(parameter.register_post_accumulate_grad_hook(after))  # type: ignore[no-untyped-call]

    def saving(self) -> AbstractContextManager[Any]:
        """Saved-tensor hooks for the forward."""
        pack, unpack = self._identity("count_packed"), self._identity("count_unpacked")
        return torch.autograd.graph.saved_tensors_hooks(pack, unpack)

    def _counter(self, name: str) -> Callable[..., None]:
        def count(*_: Any) -> None:
            self.calls[name] += 1

        count.__qualname__ = count.__name__ = name
        return count

    def _identity(self, name: str) -> Callable[[Any], Any]:
        def count(tensor: Any) -> Any:
            self.calls[name] += 1
            return tensor

        count.__qualname__ = count.__name__ = name
        return count


class FoundHook(NamedTuple):
    """A hook as it is registered: where, of which kind, and the function itself."""

    where: str
    kind: str
    function: Any


def find_hooks(
    model: nn.Module, tensors: Mapping[str, torch.Tensor], nodes: Mapping[Any, int]
) -> tuple[FoundHook, ...]:
    """Hooks on modules, on leaves and named tensors, and on what autograd saved; ask before backward frees that."""
    found = [*_on_modules(model), *_on_tensors(tensors), *_on_saved(nodes)]
    return tuple(FoundHook(*one) for one in found)


def hook_rows(found: tuple[FoundHook, ...], calls: Mapping[str, int]) -> tuple[Hook, ...]:
    """The same as data; `calls` by function name, where they were counted."""
    rows = ((one, hook_name(one.function)) for one in found)
    return tuple(Hook(one.where, one.kind, name, origin_of(one.function), calls.get(name)) for one, name in rows)


def _on_modules(model: nn.Module) -> Iterator[tuple[str, str, Any]]:
    for path, module in model.named_modules():
        for kind, hook in hooks_of_module(module):
            yield path or "the model", kind, hook


def _on_tensors(tensors: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, str, Any]]:
    for name, tensor in tensors.items():
        for kind, hook in hooks_of_tensor(tensor):
            yield name, kind, hook


def _on_saved(nodes: Mapping[Any, int]) -> Iterator[tuple[str, str, Any]]:
    """One row per function, with the number of slots it keeps."""
    slots: Counter[Any] = Counter()
    for node in nodes:
        try:
            raw = recorded.layout_of(node).read_slots(node)
        except RuntimeError:
            continue
        for slot in raw if isinstance(raw, tuple | list) else (raw,):
            hook = saved_tensor_hook(slot) if hasattr(slot, "unpack_hook") else None
            if hook is not None:
                slots[hook] += 1
    for hook, count in slots.items():
        yield f"{count} saved tensors", "saved-tensor hook (unpack)", hook


def origin_of(hook: Any) -> str:
    """File and line of a hook's function, without directories."""
    function = inspect.unwrap(getattr(hook, "__func__", hook))
    code = getattr(function, "__code__", None)
    if code is None:
        return f"{getattr(function, '__module__', '') or 'built in'}"
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
