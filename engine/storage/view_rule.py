"""The rule by which `Tensor.view` decides: does the new shape fit the strides? Step by step, as data to show.

PyTorch (`computeStride` in ATen) walks from the last dimension: neighbours join into one run as long as
stride[i] == stride[i + 1] * size[i + 1], and the sizes asked for must fill each run exactly.
"""

from __future__ import annotations

import math

import msgspec

Ints = tuple[int, ...]


class Joint(msgspec.Struct, frozen=True):
    """Whether dimension `dim` joins the run of dimension `dim + 1`: its stride must be `needed`.

    A dimension of size 1 never moves the address, so its stride does not matter and `joins` is True.
    """

    dim: int
    stride: int
    needed: int
    joins: bool
    words: str


class Run(msgspec.Struct, frozen=True):
    """Neighbouring dimensions that act as one: `size` elements, `stride` apart.

    `view_dims` are the dimensions of the asked shape laid into it; `fits` when their sizes multiply to `size`.
    """

    dims: Ints
    size: int
    stride: int
    view_dims: Ints
    fits: bool


class ViewRule(msgspec.Struct, frozen=True, kw_only=True):
    """How `.view(asked)` is decided; joints and runs in PyTorch's order, from the last dimension to the first.

    Without elements strides do not matter: there are neither joints nor runs.

    `inferred` is the asked shape with -1 filled in, None where the number of elements does not match. `failing_dim` is
    the dimension of the asked shape that would have to cross from one run into the next, between the tensor's
    dimensions `boundary` and `boundary + 1`.
    """

    shape: Ints
    stride: Ints
    asked: Ints
    inferred: Ints | None
    joints: tuple[Joint, ...]
    runs: tuple[Run, ...]
    view_stride: Ints | None
    failing_dim: int | None
    boundary: int | None
    reason: str
    copied_elements: int | None
    """What `reshape` copies: 0 when it gives a view, None when it is refused as well."""

    @property
    def is_possible(self) -> bool:
        return self.view_stride is not None


def explain_view(shape: Ints, stride: Ints, view_shape: Ints) -> ViewRule:
    """Whether a tensor of `shape` and `stride` (elements) has a view of `view_shape`, and why."""
    inferred, complaint = infer_shape(shape, view_shape)
    numel = math.prod(shape)
    joints = _joints(shape, stride) if numel else ()
    runs: tuple[Run, ...] = ()
    result: Ints | None = None
    reason = complaint
    if inferred is not None and (numel == 0 or not shape):
        result, reason = _without_strides(shape, stride, inferred)
    elif inferred is not None:
        runs = _lay_out(_runs(shape, stride, joints), inferred)
        result = _strides(runs, inferred) if all(run.fits for run in runs) else None
        reason = _why_it_fits(runs) if result is not None else ""
    broken = next((run for run in runs if not run.fits), None)
    failing = None if broken is None else broken.view_dims[0]
    if broken is not None and inferred is not None:
        reason = _why_not(broken, joints, shape, inferred)
    return ViewRule(
        shape=shape,
        stride=stride,
        asked=view_shape,
        inferred=inferred,
        joints=joints,
        runs=runs,
        view_stride=result,
        failing_dim=failing,
        boundary=None if broken is None else broken.dims[0] - 1,
        reason=reason,
        copied_elements=None if inferred is None else 0 if result is not None else numel,
    )


def infer_shape(shape: Ints, asked: Ints) -> tuple[Ints | None, str]:
    """(the asked shape with -1 filled in, ""), or (None, why its number of elements cannot match)."""
    numel = math.prod(shape)
    rest = math.prod(size for size in asked if size != -1)
    if any(size < -1 for size in asked):
        return None, f"A size is negative: {min(asked)}. Only one -1 may stand for a size to infer."
    if asked.count(-1) > 1:
        return None, "Only one size can be inferred: write the others out instead of -1."
    if -1 not in asked:
        words = f"{list(asked)} holds {rest} elements, the tensor has {numel}. A view can neither add nor drop any."
        return (asked, "") if rest == numel else (None, words)
    if rest == 0:
        words = "-1 is ambiguous beside a size of 0: any number would do." if numel == 0 else ""
        return None, words or f"A size of 0 holds no elements, the tensor has {numel}."
    if numel % rest:
        return None, f"-1 cannot be inferred: {numel} elements are not divisible by {rest}, the product of the others."
    return tuple(numel // rest if size == -1 else size for size in asked), ""


def _joints(shape: Ints, stride: Ints) -> tuple[Joint, ...]:
    """From the last pair of neighbours to the first, as PyTorch walks."""
    found = []
    for dim in range(len(shape) - 2, -1, -1):
        run_size, run_stride = _run_behind(shape, stride, dim)
        needed = run_size * run_stride
        if shape[dim] == 1:
            joins, words = True, f"size[{dim}] is 1: its stride is never used"
        else:
            joins = stride[dim] == needed
            sign = "==" if joins else "!="
            words = f"stride[{dim}] = {stride[dim]} {sign} {run_size} * {run_stride} = {needed}"
        found.append(Joint(dim, stride[dim], needed, joins, words))
    return tuple(found)


def _run_behind(shape: Ints, stride: Ints, dim: int) -> tuple[int, int]:
    """(elements, stride) of the run that starts behind `dim`, counted only as far as its dimensions join."""
    size, step = 1, stride[-1]
    for inner in range(len(shape) - 1, dim, -1):
        size *= shape[inner]
        before = inner - 1
        if before > dim and shape[before] != 1 and stride[before] != size * step:
            size, step = 1, stride[before]
    return size, step


def _runs(shape: Ints, stride: Ints, joints: tuple[Joint, ...]) -> list[Run]:
    """Dimensions grouped from the last to the first."""
    groups: list[list[int]] = [[len(shape) - 1]]
    for joint in joints:
        if joint.joins:
            groups[-1].insert(0, joint.dim)
        else:
            groups.append([joint.dim])
    return [Run(tuple(g), math.prod(shape[d] for d in g), stride[g[-1]], (), False) for g in groups]


def _lay_out(runs: list[Run], asked: Ints) -> tuple[Run, ...]:
    """Fill the runs with the asked dimensions, from the last; ends at the first run that is not filled exactly."""
    found, dim = [], len(asked) - 1
    for run in runs:
        size = 1
        taken: list[int] = []
        while dim >= 0 and (size < run.size or asked[dim] == 1):
            size *= asked[dim]
            taken.insert(0, dim)
            dim -= 1
        found.append(msgspec.structs.replace(run, view_dims=tuple(taken), fits=size == run.size))
        if size != run.size:
            break
    return tuple(found)


def _strides(runs: tuple[Run, ...], asked: Ints) -> Ints:
    found = [0] * len(asked)
    for run in runs:
        step = run.stride
        for dim in reversed(run.view_dims):
            found[dim] = step
            step *= asked[dim]
    return tuple(found)


def _without_strides(shape: Ints, stride: Ints, inferred: Ints) -> tuple[Ints, str]:
    """Strides of a view of a tensor with no element, or of a 0-dim one: nothing in memory can stand against it."""
    if not shape:
        return (1,) * len(inferred), "A 0-dim tensor has one element and no stride; every size 1 fits, with stride 1."
    if shape == inferred:
        return stride, "The same shape without elements: strides are kept as they are."
    found = [1] * len(inferred)
    for dim in range(len(inferred) - 2, -1, -1):
        found[dim] = max(inferred[dim + 1], 1) * found[dim + 1]
    return tuple(found), "There is no element, so any shape without elements fits; sizes of 0 count as 1 in strides."


def _why_it_fits(runs: tuple[Run, ...]) -> str:
    if len(runs) == 1:
        return "All dimensions join into one run of evenly spaced elements, so any shape of as many elements fits."
    return f"The sizes fill each of the {len(runs)} runs exactly: no dimension has to cross from one into the next."


def _why_not(broken: Run, joints: tuple[Joint, ...], shape: Ints, asked: Ints) -> str:
    """Names the dimension that does not fit, the stride that breaks the run, and what would have been needed."""
    dim, boundary = broken.view_dims[0], broken.dims[0] - 1
    joint = next(j for j in joints if j.dim == boundary)
    filled = math.prod(asked[d] for d in broken.view_dims)
    return (
        f"Dimension {dim} of {list(asked)} (size {asked[dim]}) does not end where a run ends: it would reach over "
        f"{filled} elements, the run holds {broken.size}. To go on into the tensor's dimension {boundary} its stride "
        f"would have to be {joint.needed}, but it is {joint.stride}. reshape copies all {math.prod(shape)} elements."
    )
