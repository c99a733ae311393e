"""A program as read: statements over named tensors, as trees that hold no text to be run."""

from __future__ import annotations

import msgspec

from engine.expression.language import Tree

Plain = float | bool | None | tuple[int, ...]


class Slice(msgspec.Struct, frozen=True):
    """`start:stop:step` inside of an index; each may be left out."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None


class Arithmetic(msgspec.Struct, frozen=True):
    """An expression of the safe language; `parts` are what its placeholder names stand for."""

    tree: Tree
    parts: tuple[tuple[str, Value], ...] = ()


class Create(msgspec.Struct, frozen=True):
    """`randn(3, requires_grad=True)`: a new tensor from plain numbers; nested tuples of numbers for `tensor`."""

    function: str
    values: tuple[object, ...]
    requires_grad: bool = False
    dtype: str = ""


class Call(msgspec.Struct, frozen=True):
    """A function that the expression language does not have, as `conv2d(x, w)` or `relu(x, inplace=True)`."""

    function: str
    arguments: tuple[Value, ...]
    is_in_place: bool = False


class MethodStep(msgspec.Struct, frozen=True):
    """`.add_(1)`; an argument is a value or plain (sizes, None, True)."""

    name: str
    arguments: tuple[Value | Plain, ...] = ()
    options: tuple[tuple[str, Value | Plain], ...] = ()


class AttributeStep(msgspec.Struct, frozen=True):
    """`.grad`, `.data` or `.T`."""

    name: str


class IndexStep(msgspec.Struct, frozen=True):
    """`[0, 1:]`."""

    items: tuple[int | Slice, ...]


Step = MethodStep | AttributeStep | IndexStep


class Chain(msgspec.Struct, frozen=True):
    """A value and what is asked of it in turn: `x[0].detach().add_(1)`."""

    base: Value
    steps: tuple[Step, ...]


Value = Arithmetic | Create | Call | Chain


class Assign(msgspec.Struct, frozen=True):
    """`a = value`, or `a, b = value` with a name for every part."""

    names: tuple[str, ...]
    value: Value


class Augment(msgspec.Struct, frozen=True):
    """`x += value`; `place` is a name or a chain that ends in an index or a settable attribute."""

    place: str | Chain
    operator: str
    value: Value


class Store(msgspec.Struct, frozen=True):
    """`x[0] = value`, `x.data = value`, `x.grad = None`."""

    place: Chain
    value: Value | None


class Do(msgspec.Struct, frozen=True):
    """A call for what it does: `x.add_(1)`, `y.backward()`."""

    value: Chain | Call


class Delete(msgspec.Struct, frozen=True):
    """`del x`."""

    names: tuple[str, ...]


Action = Assign | Augment | Store | Do | Delete


class Statement(msgspec.Struct, frozen=True):
    """One line: its number from 1, its text without indentation, the modes around it (outermost first), its action."""

    line: int
    text: str
    modes: tuple[str, ...]
    action: Action
