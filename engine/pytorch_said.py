"""An error that PyTorch raised as the lesson, as data."""

from __future__ import annotations

import msgspec

from engine.runner.faults import is_memory_error


class PyTorchSaid(msgspec.Struct, frozen=True):
    """Type of the error and its original text."""

    type: str
    message: str


def said(error: BaseException) -> PyTorchSaid:
    """The error as data; one that means memory ran out is no lesson and is raised again."""
    if is_memory_error(error):
        raise error
    return PyTorchSaid(type(error).__name__, str(error))
