"""With which arguments an operation enters a chain: such that it works on the tensor at the chain's end."""

from __future__ import annotations

from collections.abc import Callable

from engine import Fault, run
from engine.storage.operations import OPERATIONS, Argument, Step
from engine.storage.spec import Layout, LayoutSpec

SAME_SIZE = {1: "int8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}
"""Itemsize in bytes -> a dtype to read the same bytes as."""


def starting_step(operation: str, spec: LayoutSpec) -> Step:
    """A step to append to the chain of `spec`; the table's own arguments where nothing better is known."""
    try:
        layouts = run(spec).layouts
    except Fault:
        layouts = ()
    fitted = _FITTED[operation](layouts[-1]) if layouts and operation in _FITTED else None
    return Step(operation, fitted if fitted is not None else tuple(p.default for p in OPERATIONS[operation].parameters))


def _split(layout: Layout) -> tuple[Argument, ...] | None:
    for dim, size in enumerate(layout.shape):
        for factor in range(2, size):
            if size % factor == 0:
                return dim, (factor, size // factor)
    return (0, (1, layout.shape[0])) if layout.shape else None


def _windows(layout: Layout) -> tuple[Argument, ...] | None:
    wide = [dim for dim, size in enumerate(layout.shape) if size >= 2]
    return (wide[-1], 2, 1) if wide else None


def _channels_last(layout: Layout) -> tuple[Argument, ...]:
    return ("channels_last_3d" if len(layout.shape) == 5 else "channels_last",)


def _as_strided(layout: Layout) -> tuple[Argument, ...] | None:
    return (layout.shape, layout.stride, layout.storage_offset) if layout.stride is not None else None


def _expand(layout: Layout) -> tuple[Argument, ...]:
    stretched = tuple(3 if size == 1 else size for size in layout.shape)
    return (stretched if stretched != layout.shape else (2, *layout.shape),)


_FITTED: dict[str, Callable[[Layout], tuple[Argument, ...] | None]] = {
    "permute": lambda layout: (tuple(reversed(range(len(layout.shape)))),),
    "view": lambda layout: ((layout.numel,),),
    "reshape": lambda layout: ((layout.numel,),),
    "expand": _expand,
    "repeat": lambda layout: ((2, *(1 for _ in layout.shape)),),
    "unflatten": _split,
    "unfold": _windows,
    "to_memory_format": _channels_last,
    "as_strided": _as_strided,
    "flip": lambda layout: ((0,) if layout.shape else (),),
    "view_dtype": lambda layout: (SAME_SIZE.get(layout.itemsize, "uint8"),),
}
