"""Every `torch.dtype` a tensor can be built, filled and read in on the CPU, and why the others are left out."""

from __future__ import annotations

from typing import Literal, get_args

Dtype = Literal[
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "complex32",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]
DTYPES: tuple[str, ...] = get_args(Dtype)

_NO_VALUES = "it has storage and strides, but no operation of PyTorch writes or reads a value of it"
_QUANTISED = "quantised tensors carry a scale beside their storage and are made by deprecated functions only"

UNBUILDABLE: dict[str, str] = {
    **dict.fromkeys(("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float4_e2m1fn_x2"), _NO_VALUES),
    **{f"{sign}int{bits}": _NO_VALUES for sign in ("", "u") for bits in range(1, 8)},
    **dict.fromkeys(("qint8", "qint32", "quint8", "quint4x2", "quint2x4"), _QUANTISED),
}
"""Name -> why it cannot be chosen."""

_ITEMSIZE = {"bool": 1, "bfloat16": 2}


def itemsize(dtype: str) -> int:
    """Bytes of one element: `torch.<dtype>.itemsize`."""
    if dtype in _ITEMSIZE or dtype.startswith("float8"):
        return _ITEMSIZE.get(dtype, 1)
    return int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz")) // 8


def is_differentiable(dtype: str) -> bool:
    """Whether a tensor of it may require grad: floating point or complex."""
    return dtype.startswith(("float", "bfloat", "complex"))
