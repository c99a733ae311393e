"""The memory of a training step: `record_memory` loads torch only when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.memory.record import record_memory

__all__ = ["record_memory"]


def __getattr__(name: str) -> Any:
    if name != "record_memory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("engine.memory.record"), name)
