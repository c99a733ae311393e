"""Breaking one invariant of a sparse layout at a time: with PyTorch's check, and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import msgspec
import torch

from engine.pytorch_said import said
from engine.runner.contract import ProgressSink
from engine.sparse.build import MEMBERS, TORCH_LAYOUTS, arrays_of, build_coo, build_dense, to_layout
from engine.sparse.matrix import LayoutName, Matrix
from engine.sparse.reading import comparable, read_member
from engine.sparse.results import Invariants, Unchecked, Violation
from engine.sparse.spec import Corruption, InvariantsSpec, UncheckedSpec

Arrays = list[torch.Tensor]
"""The arrays of a layout in the order of MEMBERS: plain indices next to last, values last."""


class NotPossible(Exception):
    """This matrix or layout cannot be broken in this way, with the reason in words."""


def check_invariants(spec: InvariantsSpec, progress: ProgressSink) -> Invariants:
    """Every corruption of the layout, each with the complaint that construction raises."""
    try:
        arrays = _sound(spec.matrix, spec.layout)
    except Exception as error:
        return Invariants(violations=(), error=said(error))
    names: tuple[Corruption, ...] = get_args(Corruption)
    return Invariants(violations=tuple(_violation(name, arrays, spec) for name in names))


def read_unchecked(spec: UncheckedSpec, progress: ProgressSink) -> Unchecked:
    """Construct without a check and call `to_dense()`; may end the process."""
    expected = build_dense(spec.matrix)
    try:
        arrays, _ = corrupt(spec.corruption, _sound(spec.matrix, spec.layout), spec.layout, spec.matrix)
    except NotPossible as reason:
        return msgspec.structs.replace(_unchecked(expected), constructed=False, not_possible=str(reason))
    except Exception as error:
        return _unchecked(expected, construction=error)
    try:
        broken = construct(arrays, spec.layout, expected.shape, False, spec.corruption == "called coalesced")
    except Exception as error:
        return _unchecked(expected, construction=error)
    try:
        dense = broken.to_dense()
    except Exception as error:
        return _unchecked(expected, reading=error)
    return _unchecked(expected, dense=dense)


def _unchecked(
    expected: torch.Tensor,
    construction: Exception | None = None,
    reading: Exception | None = None,
    dense: torch.Tensor | None = None,
) -> Unchecked:
    return Unchecked(
        constructed=construction is None,
        construction_error=said(construction) if construction else None,
        reading_error=said(reading) if reading else None,
        dense=None if dense is None else read_member("to_dense()", dense),
        expected=read_member("to_dense()", expected),
        is_silently_wrong=dense is not None and not torch.equal(comparable(dense), comparable(expected)),
    )


def _sound(matrix: Matrix, layout: LayoutName) -> Arrays:
    tensor = to_layout(
        build_coo(matrix).coalesce(), layout, (matrix.block_rows, matrix.block_columns), matrix.index_dtype
    )
    return [array.clone() for array in arrays_of(tensor, layout)]


def construct(
    arrays: Arrays, layout: LayoutName, size: torch.Size, check: bool, call_coalesced: bool = False
) -> torch.Tensor:
    """The tensor of these arrays, with or without PyTorch's invariant check."""
    if layout == "coo":
        told = True if call_coalesced else None
        return torch.sparse_coo_tensor(arrays[0], arrays[1], size, check_invariants=check, is_coalesced=told)
    compressed, plain, values = arrays
    return torch.sparse_compressed_tensor(
        compressed, plain, values, size, layout=TORCH_LAYOUTS[layout], check_invariants=check
    )


def _violation(name: Corruption, sound: Arrays, spec: InvariantsSpec) -> Violation:
    try:
        arrays, member = corrupt(name, sound, spec.layout, spec.matrix)
    except NotPossible as reason:
        return Violation(
            name=name, member="", before=None, after=None, changed=(), complaint=None, not_possible=str(reason)
        )
    complaint = None
    try:
        size = torch.Size((spec.matrix.rows, spec.matrix.columns))
        construct(arrays, spec.layout, size, True, name == "called coalesced")
    except Exception as error:
        complaint = said(error)
    label = MEMBERS[spec.layout][member]
    return Violation(
        name=name,
        member=label,
        before=read_member(label, sound[member]),
        after=read_member(label, arrays[member]),
        changed=_changed(sound[member], arrays[member]),
        complaint=complaint,
    )


def _changed(before: torch.Tensor, after: torch.Tensor) -> tuple[int, ...]:
    one, two = before.reshape(-1).tolist(), after.reshape(-1).tolist()
    return tuple(i for i in range(len(two)) if i >= len(one) or one[i] != two[i] or before.dtype != after.dtype)


def corrupt(name: Corruption, sound: Arrays, layout: LayoutName, matrix: Matrix) -> tuple[Arrays, int]:
    """A copy of the arrays with one of them broken, and which; NotPossible says why it cannot be."""
    arrays = [array.clone() for array in sound]
    if layout == "coo":
        if name not in _COO:
            raise NotPossible("COO has no pointers" if "pointer" in name else "COO always keeps int64 indices")
        return arrays, _COO[name](arrays, matrix)
    if name not in _COMPRESSED:
        raise NotPossible("only COO tensors are coalesced or not")
    limit = _plain_limit(layout, matrix)
    return arrays, _COMPRESSED[name](arrays, limit)


def _plain_limit(layout: LayoutName, matrix: Matrix) -> int:
    """The number of plain indices there are: columns for row layouts, rows for column layouts, in blocks if any."""
    by_row = layout in ("csr", "bsr")
    whole = matrix.columns if by_row else matrix.rows
    block = (matrix.block_columns if by_row else matrix.block_rows) if layout in ("bsr", "bsc") else 1
    return whole // block


def _need(count: int, at_least: int, what: str) -> None:
    if count < at_least:
        raise NotPossible(f"needs at least {at_least} {what}, this matrix has {count}")


def _out_of_range(arrays: Arrays, limit: int) -> int:
    _need(arrays[1].numel(), 1, "entries")
    arrays[1][-1] = limit
    return 1


def _negative(arrays: Arrays, limit: int) -> int:
    _need(arrays[1].numel(), 1, "entries")
    arrays[1][0] = -1
    return 1


def _pair_in_one_row(arrays: Arrays) -> int:
    lengths = arrays[0].diff()
    rows = (lengths >= 2).nonzero().flatten().tolist()
    if not rows:
        raise NotPossible("needs two entries that share a row (or column), this matrix has none")
    return int(arrays[0][rows[0]])


def _unsorted(arrays: Arrays, limit: int) -> int:
    first = _pair_in_one_row(arrays)
    arrays[1][first : first + 2] = arrays[1][first : first + 2].flip(0)
    return 1


def _duplicate(arrays: Arrays, limit: int) -> int:
    first = _pair_in_one_row(arrays)
    arrays[1][first + 1] = arrays[1][first]
    return 1


def _first_pointer(arrays: Arrays, limit: int) -> int:
    arrays[0][0] = 1
    return 0


def _last_pointer(arrays: Arrays, limit: int) -> int:
    arrays[0][-1] += 1
    return 0


def _not_monotonic(arrays: Arrays, limit: int) -> int:
    inner = arrays[0][1:-1]
    falls = (inner > 0).nonzero().flatten().tolist()
    if not falls or arrays[0].numel() < 4:
        raise NotPossible("needs a pointer in the middle with entries in front of it, this matrix has none")
    position = falls[0] + 1
    arrays[0][position + 1 if position + 1 < arrays[0].numel() - 1 else position - 1] = (
        -1 if position + 1 < arrays[0].numel() - 1 else arrays[0][position] + 1
    )
    return 0


def _pointer_missing(arrays: Arrays, limit: int) -> int:
    _need(arrays[0].numel(), 2, "pointers")
    arrays[0] = arrays[0][:-1].clone()
    return 0


def _value_missing(arrays: Arrays, limit: int) -> int:
    _need(arrays[-1].shape[0], 1, "entries")
    arrays[-1] = arrays[-1][:-1].clone()
    return len(arrays) - 1


def _value_dimension(arrays: Arrays, limit: int) -> int:
    arrays[-1] = arrays[-1][..., None].clone()
    return len(arrays) - 1


def _float_indices(arrays: Arrays, limit: int) -> int:
    arrays[-2] = arrays[-2].float()
    return len(arrays) - 2


def _mixed(arrays: Arrays, limit: int) -> int:
    arrays[1] = arrays[1].int() if arrays[1].dtype == torch.int64 else arrays[1].long()
    return 1


_COMPRESSED: dict[str, Callable[[Arrays, int], int]] = {
    "index out of range": _out_of_range,
    "negative index": _negative,
    "unsorted indices": _unsorted,
    "duplicate index": _duplicate,
    "first pointer not 0": _first_pointer,
    "last pointer not nnz": _last_pointer,
    "pointers not monotonic": _not_monotonic,
    "one pointer missing": _pointer_missing,
    "one value missing": _value_missing,
    "one value too many dimensions": _value_dimension,
    "float indices": _float_indices,
    "int32 mixed with int64": _mixed,
}


def _coo_at(row_of: Callable[[Matrix], int]) -> Callable[[Arrays, Matrix], int]:
    def edit(arrays: Arrays, matrix: Matrix) -> int:
        _need(arrays[0].shape[1], 1, "entries")
        arrays[0][0, -1] = row_of(matrix)
        return 0

    return edit


def _coo_swap(arrays: Arrays, matrix: Matrix) -> int:
    _need(arrays[0].shape[1], 2, "entries")
    arrays[0][:, :2] = arrays[0][:, :2].flip(1)
    return 0


def _coo_duplicate(arrays: Arrays, matrix: Matrix) -> int:
    _need(arrays[0].shape[1], 2, "entries")
    arrays[0][:, 1] = arrays[0][:, 0]
    return 0


_COO: dict[str, Callable[[Arrays, Matrix], int]] = {
    "index out of range": _coo_at(lambda matrix: matrix.rows),
    "negative index": _coo_at(lambda matrix: -1),
    "unsorted indices": _coo_swap,
    "duplicate index": _coo_duplicate,
    "called coalesced": _coo_duplicate,
    "one value missing": lambda arrays, matrix: _value_missing(arrays, 0),
    "one value too many dimensions": lambda arrays, matrix: _value_dimension(arrays, 0),
    "float indices": lambda arrays, matrix: _float_indices(arrays, 0),
}
