"""What a statement may call: creations, methods and functions with what each is, and no more."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["view", "views", "in place", "out of place", "cut off", "autograd"]


class Method(msgspec.Struct, frozen=True):
    """A method of a tensor: what it is, how many arguments it takes, and its options by name.

    "views" returns several views of one tensor; "cut off" returns the same memory without its history.
    """

    name: str
    kind: Kind
    fewest: int = 0
    most: int = 0
    options: tuple[str, ...] = ()


def _several(kind: Kind, names: str, fewest: int = 0, most: int = 0, options: tuple[str, ...] = ()) -> list[Method]:
    return [Method(name, kind, fewest, most, options) for name in names.split()]


METHODS: dict[str, Method] = {
    one.name: one
    for one in (
        *_several("view", "t"),
        *_several("view", "squeeze unsqueeze diagonal", 0, 1, ("dim",)),
        *_several("view", "view expand reshape permute", 1, 4),
        *_several("view", "view_as expand_as", 1, 1),
        *_several("view", "transpose", 2, 2),
        *_several("view", "select", 2, 2),
        *_several("view", "narrow", 3, 3),
        *_several("view", "flatten", 0, 2),
        *_several("views", "chunk split", 1, 2, ("dim",)),
        *_several("views", "unbind", 0, 1, ("dim",)),
        *_several("cut off", "detach"),
        *_several("in place", "add_ sub_", 1, 1, ("alpha",)),
        *_several("in place", "mul_ div_ copy_ fill_ pow_", 1, 1),
        *_several("in place", "addcmul_ addcdiv_", 2, 2, ("value",)),
        *_several("in place", "lerp_ masked_fill_", 2, 2),
        *_several("in place", "clamp_", 0, 2, ("min", "max")),
        *_several(
            "in place",
            "zero_ relu_ sigmoid_ tanh_ exp_ log_ sqrt_ neg_ abs_ sin_ cos_ square_ reciprocal_ detach_ t_",
        ),
        *_several("out of place", "clone contiguous double float item"),
        *_several("out of place", "sum mean", 0, 1, ("dim",)),
        *_several("out of place", "add sub", 1, 1, ("alpha",)),
        *_several("out of place", "mul div pow matmul dot", 1, 1),
        *_several("out of place", "clamp", 0, 2, ("min", "max")),
        *_several("out of place", "relu sigmoid tanh exp log sqrt neg abs sin cos square reciprocal prod norm"),
        *_several("autograd", "backward", 0, 1, ("gradient", "retain_graph", "create_graph")),
        *_several("autograd", "requires_grad_", 0, 1),
        *_several("autograd", "retain_grad"),
    )
}
ATTRIBUTES = ("data", "grad", "T")
SETTABLE = ("data", "grad")

CREATIONS = ("randn", "rand", "ones", "zeros", "arange", "linspace", "tensor")
"""Called with plain numbers only; the sizes of what they make are known before anything runs."""
CREATION_OPTIONS = ("requires_grad", "dtype")
DTYPES = ("float32", "float64", "int64")

OWN_FUNCTIONS: dict[str, tuple[int, int]] = {
    "linear": (2, 3),
    "conv2d": (2, 3),
    "cat": (1, 1),
    "relu": (1, 1),
    "hooked": (1, 1),
}
"""name -> fewest and most arguments, beside the functions of the expression language.

`hooked(x)` is `x` as a module with a full backward hook hands it on: through BackwardHookFunction.
"""
RESERVED = ("torch", "F", "show", "told", "attempt", "error")
"""Names that no tensor may have: the script of a program uses them."""
MODES = ("no_grad", "inference_mode", "enable_grad")


def out_of_place_of(method: str) -> str:
    """The method that returns a new tensor instead of writing: `add` for `add_`; "" where there is none."""
    plain = method.removesuffix("_")
    found = METHODS.get(plain)
    return plain if found is not None and found.kind == "out of place" else ""
