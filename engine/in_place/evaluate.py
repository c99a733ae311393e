"""Carrying out the trees of a program with PyTorch: every callable comes from a table, none from a text."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import torch
from torch.nn import functional

from engine.expression.evaluate import evaluate as evaluate_expression
from engine.expression.written import names_in
from engine.in_place.methods import METHODS
from engine.in_place.statements import (
    Arithmetic,
    Assign,
    AttributeStep,
    Augment,
    Call,
    Chain,
    Create,
    Delete,
    Do,
    IndexStep,
    MethodStep,
    Slice,
    Statement,
    Step,
    Store,
    Value,
)
from engine.pytorch_said import attempt

Names = MutableMapping[str, Any]
LARGEST_RESULT = 1 << 16
"""Elements that one operation may make, by the sizes of what goes in."""

_METHODS: dict[str, Callable[..., Any]] = {name: getattr(torch.Tensor, name) for name in METHODS if name != "backward"}
_CREATIONS: dict[str, Callable[..., Any]] = {
    "randn": torch.randn, "rand": torch.rand, "ones": torch.ones, "zeros": torch.zeros, "arange": torch.arange,
    "linspace": torch.linspace, "tensor": torch.tensor,
}  # fmt: skip
_COMBINING: dict[str, Callable[..., torch.Tensor]] = {
    "cat": lambda *given: torch.cat(given), "conv2d": functional.conv2d, "linear": functional.linear,
}  # fmt: skip
"""Functions whose result can be larger than what goes in broadcasts to."""
_DTYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64}
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "**": operator.ipow,
}  # fmt: skip
_MODES: dict[str, Callable[[], Any]] = {
    "no_grad": torch.no_grad, "inference_mode": torch.inference_mode, "enable_grad": torch.enable_grad,
}  # fmt: skip


class TooLargeError(ValueError):
    """A refusal of this project: the operation would make more elements than a program may."""


def entered(modes: tuple[str, ...]) -> list[Any]:
    """The context managers of the blocks around a statement, outermost first."""
    return [_MODES[name]() for name in modes]


class Evaluator:
    """Runs statements over `names`; `backward(tensor, call)` is asked to run every call of `.backward`."""

    def __init__(self, names: Names, backward: Callable[[Any, Callable[[], None]], None]) -> None:
        self.names = names
        self.backward = backward

    def run(self, statement: Statement) -> None:
        """Carry out one statement; PyTorch's and Python's own errors pass through."""
        match statement.action:
            case Assign(names, value):
                self._assign(names, self.value(value))
            case Augment(place, sign, value):
                self._augment(place, sign, value)
            case Store(place, value):
                self._store(place, None if value is None else self.value(value))
            case Do(value):
                self.value(value)
            case Delete(names):
                for name in names:
                    del self.names[name]

    def _assign(self, names: tuple[str, ...], value: Any) -> None:
        if len(names) == 1:
            self.names[names[0]] = self._tensor(value)
            return
        parts = list(value)
        if len(parts) != len(names):
            raise ValueError(f"{len(parts)} values to unpack into {len(names)} names")
        for name, part in zip(names, parts, strict=True):
            self.names[name] = part

    @staticmethod
    def _tensor(value: Any) -> Any:
        """Names hold tensors: a plain number becomes one, several views need several names."""
        if isinstance(value, tuple | list):
            raise TypeError(f"{len(value)} tensors given to one name. Write one name for each, as in a, b = x.chunk(2)")
        return value if isinstance(value, torch.Tensor) or value is None else torch.tensor(value)

    def _augment(self, place: str | Chain, sign: str, value: Value) -> None:
        write = _IN_PLACE[sign]
        if isinstance(place, str):
            self.names[place] = write(self.names[place], self.value(value))
            return
        *before, last = place.steps
        owner = self.value(Chain(place.base, tuple(before))) if before else self.value(place.base)
        _set(owner, last, write(self.step(owner, last), self.value(value)))

    def _store(self, place: Chain, value: Any) -> None:
        *before, last = place.steps
        _set(self.value(Chain(place.base, tuple(before))) if before else self.value(place.base), last, value)

    def value(self, value: Any) -> Any:
        """A tensor, several of them, a number, or what a plain argument is."""
        match value:
            case Arithmetic(tree, parts):
                named = [self.names[name] for name in names_in(tree) if name in self.names]
                return evaluate_expression(tree, _InOrder(self, dict(parts), named))
            case Create():
                return self._create(value)
            case Call():
                return self._call(value)
            case Chain(base, steps):
                found = self.value(base)
                for step in steps:
                    found = self.step(found, step)
                return found
        return value

    def step(self, owner: Any, step: Step) -> Any:
        """What `owner` gives for one step of a chain."""
        match step:
            case IndexStep(items):
                index = tuple(slice(one.start, one.stop, one.step) if isinstance(one, Slice) else one for one in items)
                return owner[index[0] if len(index) == 1 else index]
            case AttributeStep(name):
                return _attribute(owner, name)
            case MethodStep():
                return self._method(owner, step)

    def _method(self, owner: Any, step: MethodStep) -> Any:
        if not isinstance(owner, torch.Tensor):
            raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{step.name}'")
        arguments = [self.value(one) for one in step.arguments]
        options = {name: self.value(one) for name, one in step.options}
        check_room([owner, *(one for one in arguments if isinstance(one, torch.Tensor))])
        if step.name == "backward":
            return self.backward(owner, lambda: owner.backward(*arguments, **options))  # type: ignore[no-untyped-call]
        if step.name == "item":
            return owner.item()
        return _METHODS[step.name](owner, *arguments, **options)

    def _create(self, value: Create) -> torch.Tensor:
        dtype = _DTYPES.get(value.dtype)
        made: torch.Tensor = _CREATIONS[value.function](*value.values, dtype=dtype, requires_grad=value.requires_grad)
        return made

    def _call(self, value: Call) -> Any:
        given = [self.value(one) for one in value.arguments]
        check_room([one for one in given if isinstance(one, torch.Tensor)])
        if value.function in _COMBINING:
            check_result(_COMBINING[value.function], given)
        match value.function:
            case "hooked":
                return hooked(given[0])
            case "relu":
                return functional.relu(given[0], inplace=value.is_in_place)
        return _COMBINING[value.function](*given)


class _InOrder(Mapping[str, Any]):
    """The tensors of an expression; a part of it is computed when its turn comes, as Python does, and once."""

    def __init__(self, evaluator: Evaluator, parts: dict[str, Value], named: list[Any]) -> None:
        self._evaluator, self._parts, self._named = evaluator, parts, named
        self._made: dict[str, Any] = {}
        check_room([one for one in named if isinstance(one, torch.Tensor)])

    def __getitem__(self, name: str) -> Any:
        if name not in self._parts:
            return self._evaluator.names[name]
        if name not in self._made:
            self._made[name] = made = self._evaluator.value(self._parts[name])
            if isinstance(made, tuple | list):
                raise TypeError(f"{len(made)} tensors where one is needed. Take one, as in x.chunk(2)[0]")
            tensors = [one for one in (*self._named, *self._made.values()) if isinstance(one, torch.Tensor)]
            check_room(tensors)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._evaluator.names
        yield from self._parts

    def __len__(self) -> int:
        return len(self._evaluator.names) + len(self._parts)


def hooked(x: torch.Tensor) -> torch.Tensor:
    """`x` through a module that does nothing and has a full backward hook."""
    module = torch.nn.Identity()
    module.register_full_backward_hook(lambda module, given, received: None)
    passed: torch.Tensor = module(x)
    return passed


def _attribute(owner: Any, name: str) -> Any:
    if not isinstance(owner, torch.Tensor):
        raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}'")
    if name == "data":
        return owner.data
    return owner.grad if name == "grad" else owner.T


def _set(owner: Any, last: Step, value: Any) -> None:
    match last:
        case IndexStep(items):
            index = tuple(slice(one.start, one.stop, one.step) if isinstance(one, Slice) else one for one in items)
            owner[index[0] if len(index) == 1 else index] = value
        case AttributeStep("data"):
            owner.data = value
        case AttributeStep("grad"):
            owner.grad = value


def check_room(tensors: list[torch.Tensor]) -> None:
    """TooLargeError where broadcasting these could make more than LARGEST_RESULT elements (an upper bound)."""
    most = max((one.dim() for one in tensors), default=0)
    sizes = [max((one.shape[dim] for one in tensors if one.dim() >= -dim), default=1) for dim in range(-most, 0)]
    _refuse_above(math.prod(sizes), "could make")


def check_result(function: Callable[..., torch.Tensor], given: list[Any]) -> None:
    """TooLargeError where `function` makes more than LARGEST_RESULT elements: asked on the meta device, which has none.

    What PyTorch refuses there is left to the call itself, whose words are the ones to show.
    """
    with torch.no_grad():
        shapes = [one.detach().to("meta") if isinstance(one, torch.Tensor) else one for one in given]
        made, _ = attempt(lambda: function(*shapes))
    if made is not None:
        _refuse_above(made.numel(), "makes")


def _refuse_above(elements: int, verb: str) -> None:
    if elements > LARGEST_RESULT:
        raise TooLargeError(
            f"This operation {verb} {elements} elements; the limit is {LARGEST_RESULT}. Take smaller sizes."
        )
