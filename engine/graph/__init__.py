"""The recorded autograd graph: `trace_graph` and `record_forward` load torch only when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.graph.recording import record_forward
    from engine.graph.walk import trace_graph

__all__ = ["record_forward", "trace_graph"]

_HOMES = {"record_forward": "engine.graph.recording", "trace_graph": "engine.graph.walk"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
