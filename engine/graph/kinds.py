"""The kind of an autograd node."""

from __future__ import annotations

from functools import lru_cache

from engine import recorded
from engine.graph.rows import NodeKind

_BY_NAME: dict[str, NodeKind] = {
    "torch::autograd::AccumulateGrad": "leaf",
    "torch::autograd::CopySlices": "copy_slices",
    "CheckpointFunctionBackward": "checkpoint",
    "CompiledFunctionBackward": "compiled",
    "BackwardHookFunctionBackward": "hook",
}


@lru_cache(maxsize=4096)
def kind_of(name: str, custom: bool) -> NodeKind:
    """Kind by `node.name()`; `custom` says that the node belongs to a Python autograd Function."""
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    if custom or name.startswith("CppNode<"):
        return "custom_function"
    return "view" if recorded.is_view_operation(name) else "operation"
