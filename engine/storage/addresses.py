"""Which places of a storage a strided tensor reads: address = storage_offset + sum(index[d] * stride[d]).

Offsets in elements from the start of the storage; strides as PyTorch has them, never negative.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

CACHE_LINE_BYTES = 64
MOST_LISTED = 2**20
"""Elements whose addresses are listed one by one."""
MOST_COUNTED_READERS = 2**16
LARGEST_SPAN = 2**27
"""Elements between first and last address up to which places are counted one by one, a bit each."""
MOST_ROWS = 4096

Ints = Sequence[int]


class AddressFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a tensor reads of its storage; counts are exact, and None where they would take too long.

    Cache lines of 64 bytes are counted from the start of the storage, which PyTorch's CPU allocator aligns to them.
    """

    numel: int
    first: int | None
    """Lowest element offset read; None for a tensor without elements, as `last`."""
    last: int | None
    span: int
    """Elements from first to last, both included."""
    distinct: int | None
    """Places read by at least one index."""
    overlapping: int | None
    """Places read by more than one index: 0 when every index has a place of its own."""
    most_readers: int | None
    """Indices that read the most-read place."""
    lines: int | None
    rows: int
    """Runs along the last dimension."""
    rows_looked_at: int
    """Rows that `fewest_lines_per_row` and `most_lines_per_row` were taken over: the first ones when not all."""
    fewest_lines_per_row: int
    most_lines_per_row: int

    @property
    def gaps(self) -> int | None:
        """Places between first and last that no index reads."""
        return None if self.distinct is None else self.span - self.distinct


def addresses(shape: Ints, stride: Ints, offset: int) -> list[int]:
    """Element offset of every index, in logical (row-major) order. ValueError above `MOST_LISTED` elements."""
    if (numel := math.prod(shape)) > MOST_LISTED:
        raise ValueError(
            f"Addresses are listed up to {MOST_LISTED} elements; received shape {tuple(shape)} with {numel}. "
            f"Sample its dimensions first."
        )
    found = [offset]
    for size, step in zip(shape, stride, strict=True):
        found = [start + step * i for start in found for i in range(size)]
    return found


def read_addresses(shape: Ints, stride: Ints, offset: int, itemsize: int) -> AddressFacts:
    """Everything `AddressFacts` holds, without listing the addresses."""
    numel = math.prod(shape)
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True)) if numel else None
    span = 0 if last is None else last - offset + 1
    rows, looked_at, fewest, most = _lines_per_row(shape, stride, offset, itemsize)
    return AddressFacts(
        numel=numel,
        first=offset if numel else None,
        last=last,
        span=span,
        distinct=distinct_places(shape, stride),
        overlapping=overlapping_places(shape, stride),
        most_readers=_most_readers(shape, stride),
        lines=cache_lines(shape, stride, offset, itemsize),
        rows=rows,
        rows_looked_at=looked_at,
        fewest_lines_per_row=fewest,
        most_lines_per_row=most,
    )


def distinct_places(shape: Ints, stride: Ints) -> int | None:
    """How many places are read; in closed form where no two indices can meet, else counted; None for a huge span."""
    dims = _moving(shape, stride)
    if math.prod(shape) == 0:
        return 0
    if _is_nested(dims):
        return math.prod(size for size, _ in dims)
    places = _places(dims)
    return None if places is None else places.bit_count()


def overlapping_places(shape: Ints, stride: Ints) -> int | None:
    """How many places more than one index reads; None for a huge span whose indices can meet.

    All places read where a stride is 0, none where no two indices can meet, else counted.
    """
    if any(size > 1 and step == 0 for size, step in zip(shape, stride, strict=True)):
        return distinct_places(shape, stride)
    dims = _moving(shape, stride)
    if math.prod(shape) == 0 or _is_nested(dims):
        return 0
    readers = _readers(dims)
    return None if readers is None else readers[1].bit_count()


def cache_lines(shape: Ints, stride: Ints, offset: int, itemsize: int) -> int | None:
    """Lines of 64 bytes that hold at least one element read; None for a span too large to count."""
    if math.prod(shape) == 0:
        return 0
    per_line = CACHE_LINE_BYTES // itemsize
    dims = _moving(shape, stride)
    if len(dims) <= 1:
        size, step = dims[0] if dims else (1, 0)
        return _lines_of_run(offset, size, step, per_line)
    if _has_no_gaps(dims):
        return _lines_of_run(offset, _span(dims), 1, per_line)
    places = _places(dims)
    return None if places is None else _lines_touched(places << offset % per_line, per_line)


def _moving(shape: Ints, stride: Ints) -> list[tuple[int, int]]:
    """(size, stride) of the dimensions along which the address changes, smallest stride first."""
    pairs = [(size, step) for size, step in zip(shape, stride, strict=True) if size != 1 and step != 0]
    return sorted(pairs, key=lambda pair: pair[1])


def _span(dims: list[tuple[int, int]]) -> int:
    return 1 + sum((size - 1) * step for size, step in dims)


def _is_nested(dims: list[tuple[int, int]]) -> bool:
    """Whether each stride is beyond everything that smaller ones reach, so that no two indices meet."""
    return all(step >= _span(dims[:i]) for i, (_, step) in enumerate(dims))


def _has_no_gaps(dims: list[tuple[int, int]]) -> bool:
    """Whether each stride is at most one beyond what smaller ones reach, so that every place in between is read."""
    return all(step <= _span(dims[:i]) for i, (_, step) in enumerate(dims))


def _places(dims: list[tuple[int, int]]) -> int | None:
    """A bit for every place read, the first at bit 0: each dimension repeats what the smaller ones read."""
    if _span(dims) > LARGEST_SPAN:
        return None
    places = 1
    for size, step in dims:
        have = 1
        while have < size:  # doubles what is repeated, so a dimension of a million takes twenty turns
            more = min(have, size - have)
            places |= places << more * step
            have += more
    return places


def _readers(dims: list[tuple[int, int]]) -> tuple[int, int] | None:
    """(a bit for every place read, a bit for every place read more than once), the first place at bit 0."""
    if _span(dims) > LARGEST_SPAN:
        return None
    found = (1, 0)
    for size, step in dims:
        repeated, doubled, have, width = (0, 0), found, 0, 1
        while width <= size:  # `doubled` holds `width` copies; those that `size` is the sum of are put side by side
            if size & width:
                repeated = _read_both(repeated, doubled, have * step)
                have += width
            doubled = _read_both(doubled, doubled, width * step) if 2 * width <= size else doubled
            width *= 2
        found = repeated
    return found


def _read_both(first: tuple[int, int], second: tuple[int, int], shift: int) -> tuple[int, int]:
    once, more = second[0] << shift, second[1] << shift
    return first[0] | once, first[1] | more | first[0] & once


def _lines_touched(places: int, per_line: int) -> int:
    """How many groups of `per_line` bits hold a bit."""
    groups = -(-places.bit_length() // per_line)
    reach = 1
    while reach < per_line:
        places |= places >> reach
        reach *= 2
    first_of_each = _repeated(1, per_line, groups)
    return (places & first_of_each).bit_count()


def _repeated(pattern: int, width: int, times: int) -> int:
    have = 1
    while have < times:
        more = min(have, times - have)
        pattern |= pattern << more * width
        have += more
    return pattern


def _lines_of_run(start: int, size: int, step: int, per_line: int) -> int:
    """Lines touched by `size` elements `step` apart."""
    if size == 0:
        return 0
    if step >= per_line:
        return size
    return (start + (size - 1) * step) // per_line - start // per_line + 1


def _lines_per_row(shape: Ints, stride: Ints, offset: int, itemsize: int) -> tuple[int, int, int, int]:
    """(rows, rows looked at, fewest, most lines of a row)."""
    if not shape or math.prod(shape) == 0:
        lines = 1 if not shape else 0
        return lines, lines, lines, lines
    rows = math.prod(shape[:-1])
    per_line = CACHE_LINE_BYTES // itemsize
    starts = _first_rows(shape[:-1], stride[:-1], offset)
    found = [_lines_of_run(start, shape[-1], stride[-1], per_line) for start in starts]
    return rows, len(starts), min(found), max(found)


def _first_rows(shape: Ints, stride: Ints, offset: int) -> list[int]:
    """Where the first rows start, in logical order, at most `MOST_ROWS` of them."""
    starts = [offset]
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        kept = min(size, -(-MOST_ROWS // len(starts)))
        starts = [start + step * i for i in range(kept) for start in starts]
        if len(starts) >= MOST_ROWS:
            break
    return starts[:MOST_ROWS]


def _most_readers(shape: Ints, stride: Ints) -> int | None:
    if math.prod(shape) == 0:
        return 0
    dims = _moving(shape, stride)
    still = math.prod(size for size, step in zip(shape, stride, strict=True) if step == 0)
    if _is_nested(dims):
        return still
    if math.prod(size for size, _ in dims) > MOST_COUNTED_READERS:
        return None
    sizes, steps = zip(*dims, strict=True)
    return still * max(Counter(addresses(sizes, steps, 0)).values())
