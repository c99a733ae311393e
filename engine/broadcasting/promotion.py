"""Type promotion, without torch: which operand decides the result's dtype and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.broadcasting.spec import Operand

CATEGORIES = ("bool", "integer", "floating point", "complex")
_CATEGORY = {
    **dict.fromkeys(("bool",), 0),
    **dict.fromkeys(("uint8", "int8", "int16", "int32", "int64"), 1),
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), 2),
    **dict.fromkeys(("complex32", "complex64", "complex128"), 3),
}
_NUMBERS = {"Python bool": "bool", "Python int": "int64", "Python float": "float32", "Python complex": "complex64"}
"""The dtype a Python number has by itself, with torch's default dtype."""
_RANK = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_COMPLEX = ("complex32", "complex64", "complex128")
LEVELS = ("tensors with dimensions", "0-dim tensors", "Python numbers")


def level_of(operand: Operand) -> int:
    """0 for a tensor with dimensions, 1 for a 0-dim tensor, 2 for a Python number."""
    return 2 if operand.is_number else int(not operand.shape)


def promoted_dtype(operands: Sequence[Operand]) -> str:
    """What `torch.result_type` gives: each level in itself, then a lower one where its category is higher."""
    by_level = [_promote_all([_dtype(o) for o in operands if level_of(o) == level]) for level in range(3)]
    return _combine(by_level[0], _combine(by_level[1], by_level[2])) or "float32"


def promotion_in_words(operands: Sequence[Operand]) -> str:
    """One sentence for the dtype that comes out."""
    dtype = promoted_dtype(operands)
    deciding = min(level_of(operand) for operand in operands)
    own = _promote_all([_dtype(o) for o in operands if level_of(o) == deciding])
    weaker = [o for o in operands if level_of(o) != deciding]
    if not weaker:
        if len({o.dtype for o in operands}) == 1:
            return f"All are {dtype}, nothing to promote."
        return f"{_listed(operands)} promote to {dtype}, the smallest dtype that PyTorch's lattice has above them."
    higher = [o for o in weaker if _CATEGORY[_dtype(o)] > _CATEGORY[own]]
    if higher:
        return (
            f"{LEVELS[deciding].capitalize()} are {own}, {_names(higher)} of a higher category "
            f"({CATEGORIES[_CATEGORY[dtype]]}) lifts the result to {dtype}."
        )
    return (
        f"{LEVELS[deciding].capitalize()} decide: {own}. {_names(weaker).capitalize()} of no higher category "
        "changes nothing, whatever its width."
    )


def _dtype(operand: Operand) -> str:
    return _NUMBERS.get(operand.dtype, operand.dtype)


def _listed(operands: Sequence[Operand]) -> str:
    return " and ".join(dict.fromkeys(operand.dtype for operand in operands))


def _names(operands: Sequence[Operand]) -> str:
    return " and ".join(
        dict.fromkeys(
            o.dtype.replace("Python ", "a Python ") if o.is_number else f"a 0-dim {o.dtype}" for o in operands
        )
    )


def _promote_all(dtypes: Sequence[str]) -> str:
    result = ""
    for dtype in dtypes:
        result = promote(result, dtype) if result else dtype
    return result


def promote(first: str, second: str) -> str:
    """`torch.promote_types`: the smallest dtype above both in PyTorch's lattice."""
    high, low = sorted((first, second), key=_CATEGORY.__getitem__, reverse=True)
    if first == second:
        return first
    if _CATEGORY[high] == 3:
        return max(high, complex_of(low), key=_COMPLEX.index)
    if _CATEGORY[high] != _CATEGORY[low]:
        return high
    if {first, second} == {"float16", "bfloat16"}:
        return "float32"
    if {first, second} == {"uint8", "int8"}:
        return "int16"
    return max(first, second, key=_RANK.index)


def _combine(higher: str, lower: str) -> str:
    """A higher level keeps its dtype unless the lower one is of a higher category; floats turn complex in width."""
    if not higher or not lower:
        return higher or lower
    if _CATEGORY[higher] >= _CATEGORY[lower]:
        return higher
    return complex_of(higher) if _CATEGORY[higher] == 2 else promote(higher, lower)


def complex_of(dtype: str) -> str:
    """The complex dtype whose parts are as wide as a floating point dtype; of integers the narrowest."""
    return {"float64": "complex128", "float32": "complex64", "bfloat16": "complex64"}.get(
        dtype, dtype if dtype in _COMPLEX else _COMPLEX[0]
    )
