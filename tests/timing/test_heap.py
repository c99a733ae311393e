"""malloc in a known state: what faults is decided by size, not by what ran before."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from statistics import median

import pytest
import torch

from engine import run
from engine.timing.heap import LARGEST_THRESHOLD_BYTES, can_settle, settle_heap, without_holes
from engine.timing.results import MEBIBYTE
from engine.timing.spec import AllocationSpec
from engine.timing.usage import read_usage
from tests.source_tree import ROOT

glibc = pytest.mark.skipif(not can_settle(), reason="malloc is not glibc's")
PAGE_BYTES = 4096


def faults_of_a_fresh_output(mib: int) -> float:
    """Per call, median, once the first calls have touched what they will be given again."""
    x, found = torch.ones(mib * MEBIBYTE // 4), []
    for _ in range(9):
        before = read_usage()
        x + 1
        found.append((read_usage() - before).minor_faults)
    return median(found[2:])


def disturb(kind: str) -> None:
    """Leave the heap in a state of that kind."""
    if kind == "many small":
        [torch.ones(1000) for _ in range(1000)]
    elif kind == "large freed":
        [torch.ones(20 * MEBIBYTE // 4) for _ in range(4)]
    elif kind == "trimmed":
        with without_holes(64 * MEBIBYTE):
            pass


@glibc
@pytest.mark.parametrize("kind", ["many small", "large freed", "trimmed"])
@pytest.mark.parametrize("mib", [2, 8, 31])
def test_an_output_below_the_threshold_does_not_fault_whatever_ran_before(kind, mib):
    disturb(kind)
    assert settle_heap()
    assert faults_of_a_fresh_output(mib) < 0.02 * mib * MEBIBYTE / PAGE_BYTES


@glibc
@pytest.mark.parametrize("kind", ["many small", "large freed", "trimmed"])
def test_an_output_above_the_threshold_is_new_whatever_holes_there_are(kind):
    disturb(kind)
    with without_holes(33 * MEBIBYTE):
        settle_heap()
        x = torch.ones(33 * MEBIBYTE // 4)
        y = x + 1
        before = read_usage()
        z = x + 1
        assert (read_usage() - before).minor_faults * PAGE_BYTES > 0.9 * 33 * MEBIBYTE or huge_pages()
        assert y.data_ptr() != z.data_ptr()


@glibc
def test_holes_that_become_one_inside_are_no_place_for_an_output_above_the_threshold():
    settle_heap()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)
    libc.free.argtypes = (ctypes.c_void_p,)
    blocks = [libc.malloc(20 * MEBIBYTE) for _ in range(8)]
    *between, last = [libc.realloc(block, PAGE_BYTES) for block in blocks[:-1]] + blocks[-1:]
    with without_holes(33 * MEBIBYTE):
        settle_heap()
        for block in between:
            libc.free(block)
        assert faults_of_a_fresh_output(33) * PAGE_BYTES > 0.9 * 33 * MEBIBYTE or huge_pages()
    libc.free(last)


def huge_pages() -> bool:
    """Whether the system gives 2 MiB at a fault without being asked."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as setting:
            return "[always]" in setting.read()
    except OSError:
        return False


def cliff_and_faults() -> tuple[tuple[int, int] | None, float]:
    """Of a run in a disturbed heap: its cliff, and the faults of the smaller size."""
    disturb("large freed")
    found = run(AllocationSpec(smallest_mib=31, largest_mib=33, points=2, rounds=5), inline=True)
    return found.cliff, found.points[0].fresh_faults


@glibc
@pytest.mark.slow
def test_two_runs_in_other_states_find_the_same_cliff():
    assert 31 * MEBIBYTE < LARGEST_THRESHOLD_BYTES < 33 * MEBIBYTE
    # Faults are counted for a whole process: in one of its own no thread of an earlier test adds to them.
    told = (
        "import json; from tests.timing.test_heap import cliff_and_faults as told; print(json.dumps([told(), told()]))"
    )
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    if not huge_pages():
        assert [cliff for cliff, _ in found] == [[31 * MEBIBYTE, 33 * MEBIBYTE]] * 2, found
    assert all(faults < 0.02 * 31 * MEBIBYTE / PAGE_BYTES for _, faults in found)
