"""Who raised a version counter: every call of a statement with the versions of its tensors before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from engine import recorded
from engine.in_place.ledger import NO_COUNTER, Ledger
from engine.in_place.results import Bump


class VersionWatch(TorchFunctionMode):
    """Notes every call that raises a version; a TorchDispatchMode would be too early, the bump comes after it."""

    def __init__(self, line: int, names: Mapping[str, Any], ledger: Ledger) -> None:
        super().__init__()
        self.line, self.names, self.ledger = line, names, ledger
        self.bumps: list[Bump] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [one for one in (*args, *(kwargs or {}).values()) if isinstance(one, torch.Tensor)]
        before = [recorded.version_of(one) for one in given]
        result = func(*args, **(kwargs or {}))
        for tensor, version in zip(given, before, strict=True):
            now = recorded.version_of(tensor)
            if version is not None and now is not None and now != version:
                self._note(func, tensor, version, now)
        return result

    def _note(self, func: Any, tensor: torch.Tensor, before: int, after: int) -> None:
        name = self._name(tensor)
        counter = self.ledger.counter(tensor, name)
        if counter == NO_COUNTER or any((one.counter, one.after) == (counter, after) for one in self.bumps):
            return
        self.bumps.append(Bump(self.line, _call_of(func), name, counter, before, after))

    def _name(self, tensor: torch.Tensor) -> str:
        """The name that holds a tensor, or `w.grad` for a gradient of one; "" for neither."""
        tensors = {name: one for name, one in self.names.items() if isinstance(one, torch.Tensor)}
        found = [name for name, one in tensors.items() if one is tensor]
        found += [f"{name}.grad" for name, one in tensors.items() if _is_leaf(one) and one.grad is tensor]
        return found[0] if found else ""


def _is_leaf(tensor: torch.Tensor) -> bool:
    """Not asked of a view, which may refuse to tell; a gradient is asked of leaves only, others warn."""
    return not recorded.is_view(tensor) and tensor.is_leaf


def _call_of(func: Any) -> str:
    """`add_`, `+=`, `[...] =`: as it is written."""
    name = str(getattr(func, "__name__", func))
    written = {"__setitem__": "[...] =", "__set__": "="}
    for operator, sign in (("iadd", "+="), ("isub", "-="), ("imul", "*="), ("itruediv", "/="), ("idiv", "/=")):
        written[f"__{operator}__"] = sign
    return written.get(name, name)
