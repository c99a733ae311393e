"""malloc in a known state before a comparison: whether a fresh tensor faults its pages in must not be chance.

glibc takes blocks above a threshold from `mmap` and gives them back when they are freed, so that each is made of new
pages. The threshold begins at 128 KiB and moves up to the size of every such block that is freed, to 32 MiB at most;
the free end of the heap is given back from twice the threshold on (mallopt(3)). What ran before decides where both
stand: the same output faulted 1,504 pages a call in one process and none in another.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

LARGEST_THRESHOLD_BYTES = 32 << 20
"""DEFAULT_MMAP_THRESHOLD_MAX of glibc on 64-bit systems."""
MOST_HOLES = 4096
"""A heap that has held gigabytes can have that many; each is address space the process has already."""
SMALL_HOLE_BYTES = 1 << 20
"""What is left free: such neighbours are no place above the threshold when what lies between them goes."""
BLOCKS = 3
"""More than the free end of a heap can hold, so that one of them comes from `mmap` and raises the threshold."""
JUST_BELOW_BYTES = LARGEST_THRESHOLD_BYTES - (64 << 10)
FENCE_BYTES = 64
_fence: list[int] = []
"""A block before the free end of the heap: what is freed below does not make that end larger than it was settled."""


@lru_cache
def _libc() -> ctypes.CDLL | None:
    """The C library of this process, with `malloc_trim`; None where there is no such function."""
    if sys.platform == "win32":
        return None
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_trim"):
        return None
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)
    libc.free.restype, libc.free.argtypes = None, (ctypes.c_void_p,)
    libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, (ctypes.c_ssize_t,)
    libc.malloc_trim.argtypes = (ctypes.c_size_t,)
    return libc


def can_settle() -> bool:
    """Whether malloc is glibc's."""
    return _libc() is not None


def settle_heap() -> bool:
    """Let the threshold grow to its maximum and the heap end in just under 32 MiB of pages that are there.

    Where a process that has allocated large tensors for a while arrives by itself: what fits is handed out again
    without a fault, and what is larger than the threshold never is. False where malloc is not glibc's.
    """
    libc = _libc()
    if libc is None:
        return False
    for block in [libc.malloc(JUST_BELOW_BYTES) for _ in range(BLOCKS)]:
        libc.free(block)
    if reserve := libc.malloc(JUST_BELOW_BYTES):
        ctypes.memset(reserve, 1, JUST_BELOW_BYTES)
    before, _fence[:] = _fence[:], [libc.realloc(reserve, FENCE_BYTES)]
    for one in before:
        libc.free(one)
    return True


@contextmanager
def without_holes(size_bytes: int) -> Iterator[None]:
    """Inside, the heap has no free place for a block of this size, which is above the threshold.

    Such a block would otherwise lie in a hole that freed tensors left, its pages there. The holes are held, untouched,
    small ones too: two of them are one as soon as what lies between them is freed.
    """
    libc, held = _libc(), list[int]()
    if libc is not None and size_bytes > LARGEST_THRESHOLD_BYTES:
        libc.malloc_trim(0)
        held = [block for hole in (size_bytes, SMALL_HOLE_BYTES) for block in _fill(libc, hole)]
    try:
        yield
    finally:
        for one in held:
            libc.free(one)  # type: ignore[union-attr]


def _fill(libc: ctypes.CDLL, size_bytes: int) -> Iterator[int]:
    """Blocks of that size until one does not fit into a hole: the heap would have to grow, or it is not in the heap."""
    end = libc.sbrk(0)
    for _ in range(MOST_HOLES):
        block = libc.malloc(size_bytes)
        if not block or block + size_bytes > end:
            libc.free(block)
            return
        yield block
