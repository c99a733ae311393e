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
MOST_HOLES = 1024
"""A heap that has held gigabytes can have hundreds; each is address space the process has already."""
BLOCKS = 3
"""More than the free end of a heap can hold, so that one of them comes from `mmap` and raises the threshold."""
JUST_BELOW_BYTES = LARGEST_THRESHOLD_BYTES - (64 << 10)


@lru_cache
def _libc() -> ctypes.CDLL | None:
    """The C library of this process, with `malloc_trim`; None where there is no such function."""
    if sys.platform == "win32":
        return None
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_trim"):
        return None
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
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
    libc.free(reserve)
    return True


@contextmanager
def without_holes(size_bytes: int) -> Iterator[None]:
    """Inside, the heap has no free place for a block of this size, which is above the threshold.

    Such a block would otherwise lie in a hole that freed tensors left, its pages there. The holes are held, untouched.
    """
    libc, held = _libc(), list[int]()
    if libc is not None and size_bytes > LARGEST_THRESHOLD_BYTES:
        libc.malloc_trim(0)
        block = libc.malloc(size_bytes)
        while block and block < libc.sbrk(0) and len(held) < MOST_HOLES:
            held.append(block)
            block = libc.malloc(size_bytes)
        libc.free(block)
    try:
        yield
    finally:
        for one in held:
            libc.free(one)  # type: ignore[union-attr]
