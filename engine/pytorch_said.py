"""An error that PyTorch raised as the lesson, as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from engine.runner.faults import Fault, error_text, is_memory_error

T = TypeVar("T")


class PyTorchSaid(msgspec.Struct, frozen=True):
    """Type of the error and its original text, which ends before the C++ frames that some carry."""

    type: str
    message: str


def said(error: BaseException) -> PyTorchSaid:
    """The error as data; one that means memory ran out, or a Fault of ours, is no lesson and is raised again."""
    if isinstance(error, Fault) or is_memory_error(error):
        raise error
    return PyTorchSaid(type(error).__name__, error_text(error))


def attempt(call: Callable[[], T], *, ours: tuple[type[Exception], ...] = ()) -> tuple[T | None, PyTorchSaid | None]:
    """(what it gave, None), or (None, what PyTorch said); `ours` are refusals of this project, raised as they are."""
    try:
        return call(), None
    except ours:
        raise
    except Exception as error:
        return None, said(error)
