"""What an operator says when PyTorch refuses the arguments before it sees them, or has no memory for the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from engine import recorded


def in_words(name: str, called: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
    """`called`, whose errors all name the operator: TypeError for an argument of another type, else RuntimeError."""
    arguments = recorded.read_arguments(called.default)  # type: ignore[attr-defined]

    def operator(*args: Any, **kwargs: Any) -> Any:
        try:
            return called(*args, **kwargs)
        except RuntimeError as error:  # also NotImplementedError: no kernel for a layout
            if str(error).startswith(name):
                raise
            _expect_types(name, arguments, args, kwargs, error)
            _expect_memory(name, fake, args, kwargs, error)
            raise

    operator.__name__ = operator.__qualname__ = name
    return operator


def strided_only(name: str, called: Callable[..., Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    """`compute`, which would take other layouts too, refusing them as PyTorch does for want of a compiled kernel."""
    arguments = recorded.read_arguments(called.default)  # type: ignore[attr-defined]

    def after_check(*args: Any, **kwargs: Any) -> Any:
        _expect_types(name, arguments, args, kwargs, None)
        return compute(*args, **kwargs)

    return after_check


def _expect_types(
    name: str, arguments: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception | None
) -> None:
    given = dict(zip((argument.name for argument in arguments), args, strict=False)) | kwargs
    for argument in arguments:
        if argument.name in given:
            _expect_type(name, argument, given[argument.name], error)


def _expect_type(name: str, argument: Any, value: Any, error: Exception | None) -> None:
    kind = str(argument.type)
    if kind in ("Tensor", "Optional[Tensor]") and not isinstance(value, Tensor) and not (value is None and "O" in kind):
        raise TypeError(f"{name}: expected {argument.name} as a tensor; received {_named(value)}") from error
    if kind == "List[Tensor]" and not _is_list_of_tensors(value):
        raise TypeError(f"{name}: expected {argument.name} as a list of tensors; received {_named(value)}") from error
    for place, tensor in _tensors(value):
        if tensor.layout is not torch.strided or tensor.is_nested:
            layout = "a nested tensor" if tensor.is_nested else f"layout {tensor.layout}"
            wanted = f"{name}: expected {argument.name}{place} strided, with a value for every element"
            raise RuntimeError(f"{wanted}; received {layout}") from error
    if kind in ("float", "int", "bool", "str") and type(value).__name__ not in _TAKEN[kind]:
        raise TypeError(f"{name}: expected {argument.name} as {kind}; received {_named(value)}") from error


_TAKEN = {"float": ("float", "int", "bool"), "int": ("int", "bool"), "bool": ("bool",), "str": ("str",)}


def _is_list_of_tensors(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(x, Tensor) for x in value)


def _tensors(value: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield "", value
    elif isinstance(value, list | tuple):
        yield from ((f"[{i}]", x) for i, x in enumerate(value) if isinstance(x, Tensor))


def _named(value: Any) -> str:
    if isinstance(value, Tensor):
        return "one tensor"
    return "None" if value is None else f"{value!r:.60} of type {type(value).__name__}"


def _expect_memory(
    name: str, fake: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> None:
    """The allocation that failed, once more: where the extension calls PyTorch, its own words are lost."""
    if "API call failed" not in str(error):
        return
    try:
        fake(*args, **kwargs)
    except RuntimeError as refused:
        raise RuntimeError(f"{name}: expected memory for the result; received: {refused}") from error
    said = str(error).split('"')
    raise RuntimeError(f"{name}: PyTorch's {said[1] if len(said) > 1 else 'own code'} failed inside of it") from error
