"""Values inside the brackets of a call: whole numbers, tuples of them, None and names of torch."""

from __future__ import annotations

import ast
from difflib import get_close_matches

from engine.storage.chain_error import ChainError
from engine.storage.dtypes import DTYPES, UNBUILDABLE
from engine.storage.operations import MEMORY_FORMATS, Argument

_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
"""PyTorch's second names of its dtypes."""


def literal(node: ast.expr) -> Argument:
    """An int, a tuple of ints, None, or the name after `torch.` of a dtype or memory format; ChainError otherwise."""
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(whole_number(entry) for entry in node.elts)
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    if isinstance(node, ast.Attribute):
        return _torch_name(node)
    return whole_number(node)


def whole_number(node: ast.expr) -> int:
    """An int with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_unsigned(node.operand)
    return _unsigned(node)


def _unsigned(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    raise ChainError(f"A whole number is needed here; received {received(node)}. Write one such as 2", node.col_offset)


def received(node: ast.AST) -> str:
    """What was typed, shortened."""
    text = ast.unparse(node)
    return text if len(text) <= 40 else text[:39] + "…"


def _torch_name(node: ast.Attribute) -> str:
    if not isinstance(node.value, ast.Name) or node.value.id != "torch":
        raise ChainError(
            f"{received(node)} is not known here. Write dtypes and memory formats as torch.float16", node.col_offset
        )
    name = _ALIASES.get(node.attr, node.attr)
    if name in DTYPES or name in MEMORY_FORMATS:
        return name
    if name in UNBUILDABLE:
        raise ChainError(f"torch.{name} cannot be used: {UNBUILDABLE[name]}. Choose another dtype", node.col_offset)
    near = get_close_matches(node.attr, [*DTYPES, *MEMORY_FORMATS, *_ALIASES], n=1)
    meant = f"Did you mean torch.{near[0]}?" if near else "Write a dtype as torch.float16"
    raise ChainError(f"torch.{node.attr} is no dtype or memory format. {meant}", node.col_offset)
