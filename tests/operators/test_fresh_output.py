"""Outputs above 32 MiB, which glibc maps afresh on every call: in huge pages where this system gives them."""

from __future__ import annotations

import mmap
import resource
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from engine.operators import gelu_tanh
from engine.operators.load import load

LARGE = 36 << 20
PAGES = LARGE // mmap.PAGESIZE


def faults(work: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def touch_huge_pages() -> None:
    """A mapping of our own, advised and written once: what the system gives anyone who asks."""
    with mmap.mmap(-1, LARGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
        block.madvise(mmap.MADV_HUGEPAGE)
        for start in range(0, LARGE, mmap.PAGESIZE):
            block[start] = 1


@pytest.mark.parametrize("extra", [0, 1, 1023])
def test_every_element_of_a_large_output_is_right(extra: int):
    x = torch.randn(LARGE // 4 + extra)
    torch.testing.assert_close(gelu_tanh(x), F.gelu(x, approximate="tanh"))


@pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")
@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system has no huge pages to ask for")
def test_a_large_output_is_faulted_in_by_huge_pages():
    x, new = torch.randn(LARGE // 4), []
    for _ in range(5):  # another process may take the huge pages that were free a moment ago
        if faults(touch_huge_pages) <= PAGES // 4:
            new.append(faults(lambda: gelu_tanh(x)))
    if not new:
        pytest.skip("this system gives no huge pages now")
    assert min(new) < PAGES // 4
