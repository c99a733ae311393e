"""The rule by which `Tensor.view(dtype)` decides: the same bytes, cut into elements of another size."""

from __future__ import annotations

import msgspec

Ints = tuple[int, ...]


class DtypeCheck(msgspec.Struct, frozen=True):
    """One condition, with the numbers it was decided on."""

    condition: str
    holds: bool


class DtypeViewRule(msgspec.Struct, frozen=True, kw_only=True):
    """How `.view(dtype)` is decided; shape, stride and storage_offset in elements of the new dtype, None when refused.

    Conditions in the order PyTorch checks them, up to the first that does not hold.
    """

    checks: tuple[DtypeCheck, ...]
    shape: Ints | None
    stride: Ints | None
    storage_offset: int | None

    @property
    def is_possible(self) -> bool:
        return self.shape is not None


def explain_dtype_view(
    shape: Ints, stride: Ints, storage_offset: int, itemsize: int, new_itemsize: int
) -> DtypeViewRule:
    """Whether elements of `itemsize` bytes can be read as elements of `new_itemsize` bytes, and why."""
    if itemsize == new_itemsize:
        check = DtypeCheck(f"both dtypes have {itemsize} bytes per element: nothing moves", True)
        return DtypeViewRule(checks=(check,), shape=shape, stride=stride, storage_offset=storage_offset)
    checks = _checks(shape, stride, storage_offset, itemsize, new_itemsize)
    first = next((i for i, check in enumerate(checks) if not check.holds), None)
    if first is not None:
        kept = tuple(checks[: first + 1])
        return DtypeViewRule(checks=kept, shape=None, stride=None, storage_offset=None)
    old, new = itemsize, new_itemsize
    return DtypeViewRule(
        checks=tuple(checks),
        shape=(*shape[:-1], shape[-1] * old // new),
        stride=(*(step * old // new for step in stride[:-1]), 1),
        storage_offset=storage_offset * old // new,
    )


def _checks(shape: Ints, stride: Ints, offset: int, old: int, new: int) -> list[DtypeCheck]:
    checks = [DtypeCheck(f"there is a last dimension to cut anew ({len(shape)} dimensions)", bool(shape))]
    if not shape:
        return checks
    dense = DtypeCheck(f"stride[-1] == 1, so that elements lie side by side; it is {stride[-1]}", stride[-1] == 1)
    if new < old:
        return [*checks, dense]
    times = new // old
    checks.append(_divisible(f"size[-1] = {shape[-1]}", shape[-1], times))
    checks.append(_divisible(f"storage_offset = {offset}", offset, times))
    checks.append(dense)
    return [*checks, *(_divisible(f"stride[{dim}] = {step}", step, times) for dim, step in enumerate(stride[:-1]))]


def _divisible(what: str, value: int, times: int) -> DtypeCheck:
    return DtypeCheck(f"{what} is divisible by {times}, as one new element takes {times} old ones", value % times == 0)
