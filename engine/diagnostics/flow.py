"""Flow: every operation of a forward as the program called it, and which values it turned into which."""

from __future__ import annotations

import os
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from engine.graph.recording import Recording
from engine.graph.rows import Source

_APPLY = os.path.join("torch", "autograd", "function.py")
LEAVES_TORCH = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__", "__array__"}
"""What hands values to Python or numpy."""


class Call(NamedTuple):
    """One operation: what was called, from where, and the numbers of the values that went in and came out."""

    name: str
    module: str
    source: Source | None
    grad_enabled: bool
    inference: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    leaves_torch: bool
    inside: str
    """The custom Function whose forward ran it, by name."""


class Value:
    """A tensor, or a number that left torch: whether it requires a gradient, and the call that made it (-1: given)."""

    __slots__ = ("alive", "dtype", "maker", "node", "requires_grad", "shape")

    def __init__(self, thing: Any, maker: int) -> None:
        self.maker = maker
        self.alive: Any = weakref.ref(thing) if isinstance(thing, torch.Tensor) else (lambda: thing)
        self.shape: tuple[int, ...] = ()
        self.dtype = type(thing).__name__
        self.requires_grad = False
        self.node = ""
        self.look_again()

    def look_again(self) -> None:
        """A custom Function gives its outputs their grad_fn after the operations inside have returned."""
        thing = self.alive()
        if isinstance(thing, torch.Tensor):
            self.requires_grad = self.requires_grad or thing.requires_grad
            self.dtype = str(thing.dtype).removeprefix("torch.")
            if not thing.is_nested:
                self.shape = tuple(thing.shape)
            if thing.requires_grad and not thing.is_leaf:
                self.node = thing.grad_fn.name() if thing.grad_fn is not None else ""


class Flow(TorchFunctionMode):
    """Records calls while active; `source` and `called` tell a dispatch mode below what runs now."""

    def __init__(self, see: Callable[[Call, Any], None]) -> None:
        super().__init__()
        self._see = see
        self.recording = Recording()
        self.calls: list[Call] = []
        self.values: list[Value] = []
        self.records = True
        self.called = ""
        self.source: Source | None = None
        self._number: dict[int, int] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = self.called, self.source
        self.called = plain_name(func)
        self.source = self.recording.source_of(sys._getframe(1)) or self.source
        try:
            inputs = tuple(self.number_of(one) for one in _followed((args, kwargs))) if self.records else ()
            out = func(*args, **(kwargs or {}))
            if self.records:
                self._note(inputs, out)
            return out
        finally:
            self.called, self.source = before

    def number_of(self, thing: Any) -> int:
        """Number of a value; one never seen is given from outside. -1 for a plain number that no call made."""
        number = self._number.get(id(thing))
        if number is not None and self.values[number].alive() is thing:
            self.values[number].look_again()
            return number
        return self._add(thing, -1) if isinstance(thing, torch.Tensor) else -1

    def look_again(self) -> None:
        """Once the forward has ended: whether the values require a gradient after all."""
        for value in self.values:
            value.look_again()

    def _add(self, thing: Any, maker: int) -> int:
        self.values.append(Value(thing, maker))
        self._number[id(thing)] = len(self.values) - 1
        return len(self.values) - 1

    def _note(self, inputs: tuple[int, ...], out: Any) -> None:
        leaves = self.called.rpartition(".")[2] in LEAVES_TORCH
        made = [out] if leaves else [one for one in _followed(out) if isinstance(one, torch.Tensor)]
        known = tuple(one for one in inputs if one >= 0)
        if not made or (leaves and not known):
            return
        outputs = tuple(self._add(one, len(self.calls)) for one in made)
        state = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        inside = "" if state[0] else _function_around(sys._getframe(2))
        call = Call(self.called, self.recording.module, self.source, *state, known, outputs, leaves, inside)
        self.calls.append(call)
        self._see(self.calls[-1], out)

    def reached_from(self, value: int) -> list[int]:
        """Numbers of the calls whose inputs depend on `value`, in order of running."""
        users: dict[int, list[int]] = {}
        for number, call in enumerate(self.calls):
            for one in call.inputs:
                users.setdefault(one, []).append(number)
        seen, found, waiting = {value}, set[int](), deque([value])
        while waiting:
            for number in users.get(waiting.popleft(), ()):
                found.add(number)
                for out in self.calls[number].outputs:
                    if out not in seen:
                        seen.add(out)
                        waiting.append(out)
        return sorted(found)


def _function_around(frame: FrameType | None) -> str:
    """Name of the autograd.Function whose forward runs."""
    while frame is not None:
        if frame.f_code.co_name == "apply" and frame.f_code.co_filename.endswith(_APPLY):
            return str(getattr(frame.f_locals.get("cls"), "__name__", "a Function"))
        frame = frame.f_back
    return ""


def plain_name(func: Any) -> str:
    """ "torch.Tensor.add" as "Tensor.add"; a property by its own name."""
    name = resolve_name(func) or getattr(func, "__name__", str(func))
    return str(name).removeprefix("torch.").removesuffix(".__get__").removesuffix(".default")


def _followed(value: Any, depth: int = 0) -> Iterator[Any]:
    """Tensors, and Python floats (which `.item()` may have made), in arguments or results."""
    if isinstance(value, torch.Tensor | float):
        yield value
    elif depth < 4 and isinstance(value, tuple | list):
        for one in value:
            yield from _followed(one, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for one in value.values():
            yield from _followed(one, depth + 1)
