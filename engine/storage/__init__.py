"""Where a tensor's elements lie: `inspect_layout` loads torch only when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.storage.inspect import inspect_layout

__all__ = ["inspect_layout"]


def __getattr__(name: str) -> Any:
    if name != "inspect_layout":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("engine.storage.inspect"), name)
