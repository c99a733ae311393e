"""The recorded backward pass: `record_backward` loads torch only when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.replay.record import record_backward

__all__ = ["record_backward"]


def __getattr__(name: str) -> Any:
    if name != "record_backward":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("engine.replay.record"), name)
