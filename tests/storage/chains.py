"""Random shapes and chains, each step drawn to fit the tensor it meets; shapes with 0 and 1 are frequent."""

from __future__ import annotations

import math

import torch
from hypothesis import strategies as st

from engine.storage.apply import apply_step
from engine.storage.dtypes import DTYPES
from engine.storage.operations import MEMORY_FORMATS, OPERATIONS, Step

SIZES = st.sampled_from((0, 1, 1, 2, 2, 3, 4, 5))
SHAPES = st.lists(SIZES, max_size=4).map(tuple)
VIEWS = ("permute", "slice", "select", "narrow", "expand", "unsqueeze", "squeeze", "diagonal", "unfold", "as_strided")
COPIES = ("contiguous", "clone", "flip", "repeat", "roll")
MOST_ELEMENTS = 400


@st.composite
def chains(draw, operations=(*VIEWS, *COPIES), most_steps=5):
    """(shape, steps): a chain that PyTorch carries out, of at most MOST_ELEMENTS elements."""
    shape = draw(SHAPES)
    tensor = torch.empty(shape)
    steps: list[Step] = []
    for _ in range(draw(st.integers(0, most_steps))):
        step = draw_step(draw, tensor, draw(st.sampled_from(operations)))
        after = apply_step(tensor, step) if step is not None else tensor
        if step is not None and after.numel() <= MOST_ELEMENTS and after.dim() <= 6:
            steps.append(step)
            tensor = after
    return shape, tuple(steps)


def draw_step(draw, tensor, operation):
    """A step of `operation` that fits `tensor`; None where there is none."""
    dims = tensor.dim()
    if operation in ("contiguous", "clone"):
        return Step(operation)
    if operation == "unsqueeze":
        return Step("unsqueeze", (draw(st.integers(-dims - 1, dims)),))
    if operation == "as_strided":
        return _as_strided(draw, tensor)
    if dims == 0:
        return None
    return _of_a_dim(draw, tensor, operation, draw(st.integers(-dims, dims - 1)))


def _of_a_dim(draw, tensor, operation, dim):
    dims, size = tensor.dim(), tensor.size(dim)
    if operation == "permute":
        return Step("permute", (tuple(draw(st.permutations(range(dims)))),))
    if operation == "slice":
        ends = st.one_of(st.none(), st.integers(-size - 1, size + 1))
        return Step("slice", (dim, draw(ends), draw(ends), draw(st.integers(1, 3))))
    if operation == "narrow":
        start = draw(st.integers(0, size))
        return Step("narrow", (dim, start, draw(st.integers(0, size - start))))
    if operation == "select":
        return Step("select", (dim, draw(st.integers(-size, size - 1)))) if size else None
    if operation == "expand":
        wanted = tuple(draw(st.sampled_from((-1, 2, 3))) if entry == 1 else -1 for entry in tensor.shape)
        return Step("expand", ((2, *wanted) if draw(st.booleans()) and 0 not in tensor.shape else wanted,))
    if operation == "squeeze":
        return Step("squeeze", (draw(st.sampled_from((None, dim))),))
    if operation == "diagonal":
        offset = draw(st.integers(-2, 2))
        return Step("diagonal", (offset, 0, dims - 1)) if dims > 1 else None
    if operation == "unfold":
        return Step("unfold", (dim, draw(st.integers(1, size)), draw(st.integers(1, 2)))) if size else None
    if operation == "flip":
        return Step("flip", ((dim,),))
    if operation == "roll":
        return Step("roll", ((draw(st.integers(-3, 3)),), (dim,)))
    return Step("repeat", (tuple(draw(st.integers(0, 2)) for _ in range(dims)),))


def _as_strided(draw, tensor):
    """Any size and stride that stays within the storage; overlaps are welcome."""
    held = tensor.untyped_storage().nbytes() // tensor.itemsize
    size = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    stride = tuple(draw(st.integers(0, 5)) for _ in size)
    reach = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return Step("as_strided", (size, stride, draw(st.integers(0, held - reach)))) if reach <= held else None


@st.composite
def shapes_for(draw, numel):
    """A shape to ask of `.view`: mostly of as many elements, sometimes with -1, sometimes wrong."""
    sizes = [draw(st.integers(0, 3)) for _ in range(draw(st.integers(0, 2)))] + [0] if numel == 0 else []
    while numel > 1:
        factor = draw(st.sampled_from([d for d in range(2, numel + 1) if numel % d == 0]))
        sizes.append(factor)
        numel //= factor
    for _ in range(draw(st.integers(0, 2))):
        sizes.insert(draw(st.integers(0, len(sizes))), 1)
    fault = draw(st.sampled_from(("", "", "", "infer", "wrong")))
    if fault == "infer" and sizes:
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    return tuple(sizes) if fault != "wrong" else (*sizes, 2)


VALUES = {
    "dim": st.integers(-7, 7),
    "int": st.integers(-(2**31) + 1, 2**31 - 1),
    "optional_int": st.none() | st.integers(-50, 50),
    "dims": st.lists(st.integers(-7, 7), max_size=6).map(tuple),
    "shape": st.lists(st.integers(-1, 9), max_size=6).map(tuple),
    "dtype": st.sampled_from(DTYPES),
    "memory_format": st.sampled_from(MEMORY_FORMATS),
}


@st.composite
def any_steps(draw):
    """A step of any operation with arguments that need not fit any tensor."""
    operation = OPERATIONS[draw(st.sampled_from(list(OPERATIONS)))]
    values = {p.name: draw(VALUES[p.kind]) for p in operation.parameters}
    if operation.name == "chunk":
        values["chunks"] = draw(st.integers(1, 9))
    return Step(operation.name, tuple(values.values()))


def build(shape, steps):
    """The end of a chain over int32 0, 1, 2, ... in a storage of its own."""
    tensor = torch.arange(math.prod(shape), dtype=torch.int32).reshape(shape).clone()
    for step in steps:
        tensor = apply_step(tensor, step)
    return tensor
