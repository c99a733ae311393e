"""An error that PyTorch raised as the lesson, as data."""

from __future__ import annotations

import msgspec

from engine.runner.faults import error_text, is_memory_error


class PyTorchSaid(msgspec.Struct, frozen=True):
    """Type of the error and its original text, which ends before the C++ frames that some carry."""

    type: str
    message: str


def said(error: BaseException) -> PyTorchSaid:
    """The error as data; one that means memory ran out is no lesson and is raised again."""
    if is_memory_error(error):
        raise error
    return PyTorchSaid(type(error).__name__, error_text(error))
