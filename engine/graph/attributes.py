"""Non-tensor attributes of autograd nodes, as text."""

from __future__ import annotations

from typing import Any

import torch

from engine.graph.rows import Attribute
from engine.graph.texts import attribute_text
from engine.graph.wording import is_freed
from engine.recorded import NodeLayout
from engine.runner.faults import error_text

Attributes = tuple[Attribute, ...]


def read_attributes(nodes: list[Any], layout: NodeLayout) -> list[Attributes]:
    """The attributes of nodes of one class; equal values share one tuple, 1 and 1.0 and True being different values."""
    if layout.custom or not layout.plain:
        return [_attributes(node, layout) for node in nodes]
    read, several, exact = layout.read_plain, len(layout.plain) > 1, _is_told_by_value(nodes[0], layout)
    shared: dict[Any, Attributes] = {}
    found = []
    for node in nodes:
        try:
            values = read(node)
            key = values if exact else (values, *map(type, values)) if several else (values, type(values))
            known = shared.get(key)
        except (RuntimeError, TypeError):
            found.append(_attributes(node, layout))
            continue
        if known is None:
            known = _attributes(node, layout)
            if not _has_float_zero(values):
                shared[key] = known
        found.append(known)
    return found


def _is_told_by_value(node: Any, layout: NodeLayout) -> bool:
    """Whether no attribute of the class is a number: of two equal values one could be 1 and the other 1.0 or True."""
    try:
        return all(isinstance(getattr(node, private), (tuple, str, torch.dtype)) for _, private in layout.plain)
    except RuntimeError:
        return False


def _has_float_zero(value: Any) -> bool:
    """0.0 equals -0.0, but reads differently."""
    if isinstance(value, tuple):
        return any(map(_has_float_zero, value))
    return isinstance(value, (float, complex)) and value == 0


def _attributes(node: Any, layout: NodeLayout) -> Attributes:
    found = [_attribute(node, name, private) for name, private in layout.plain]
    if layout.custom:
        found += [Attribute(name, attribute_text(value)) for name, value in vars(node).items()]
    return tuple(found)


def _attribute(node: Any, name: str, private: str) -> Attribute:
    try:
        return Attribute(name, attribute_text(getattr(node, private)))
    except RuntimeError as error:
        return Attribute(name, "", "freed by backward" if is_freed(error) else error_text(error))
