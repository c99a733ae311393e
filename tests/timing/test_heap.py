"""malloc in a known state: what faults is decided by size, not by what ran before."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

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
KINDS = ("many small", "large freed", "trimmed")


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


def faults_below_the_threshold() -> dict[str, float]:
    """Pages faulted in per byte of an output, by what ran before and its MiB."""
    found = {}
    for kind in KINDS:
        for mib in (2, 8, 31):
            disturb(kind)
            assert settle_heap()
            found[f"{kind}, {mib}"] = faults_of_a_fresh_output(mib) * PAGE_BYTES / (mib * MEBIBYTE)
    return found


def faults_above_the_threshold() -> dict[str, tuple[float, bool]]:
    """The same of one that is larger, and whether two at once lie in one place, by what ran before."""
    found = {}
    for kind in KINDS:
        disturb(kind)
        with without_holes(33 * MEBIBYTE):
            settle_heap()
            x = torch.ones(33 * MEBIBYTE // 4)
            y = x + 1
            before = read_usage()
            z = x + 1
            faulted = (read_usage() - before).minor_faults * PAGE_BYTES / (33 * MEBIBYTE)
            found[kind] = faulted, y.data_ptr() == z.data_ptr()
    return found


def faults_where_holes_became_one() -> float:
    settle_heap()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)
    libc.free.argtypes = (ctypes.c_void_p,)
    blocks = [libc.malloc(20 * MEBIBYTE) for _ in range(8)]
    between = [libc.realloc(block, PAGE_BYTES) for block in blocks[:-1]]
    with without_holes(33 * MEBIBYTE):
        settle_heap()
        for block in between:
            libc.free(block)
        return faults_of_a_fresh_output(33) * PAGE_BYTES / (33 * MEBIBYTE)


def in_a_process_of_its_own(call: str) -> Any:
    """Faults are counted for a whole process, and its heap is what earlier tests left: here, as in a worker, none."""
    told = f"import json; from tests.timing import test_heap as told; print(json.dumps({call}))"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def assert_in_a_process(call: str, wrong: Callable[[Any], list[Any]]) -> None:
    """Now and then the heap of a process lies where it cannot grow, and small blocks fault as well: three tries."""
    tried = [wrong(in_a_process_of_its_own(call))]
    while tried[-1] and len(tried) < 3:
        tried.append(wrong(in_a_process_of_its_own(call)))
    assert tried[-1] == [], tried


@glibc
def test_whatever_ran_before_outputs_below_the_threshold_do_not_fault_and_above_it_are_new():
    def wrong(found: Any) -> list[Any]:
        below, above, joined = found
        told = [item for item in below.items() if item[1] >= 0.02]
        told += [(kind, same) for kind, (_, same) in above.items() if same]
        if not huge_pages():
            told += [(kind, share) for kind, (share, _) in above.items() if share <= 0.9]
            told += [joined] if joined <= 0.9 else []
        return told

    assert_in_a_process(
        "(told.faults_below_the_threshold(), told.faults_above_the_threshold(), told.faults_where_holes_became_one())",
        wrong,
    )


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
    cliff = [31 * MEBIBYTE, 33 * MEBIBYTE]

    def wrong(found: Any) -> list[Any]:
        many = 0.02 * 31 * MEBIBYTE / PAGE_BYTES
        return [one for one in found if (one[0] != cliff and not huge_pages()) or one[1] >= many]

    assert_in_a_process("[told.cliff_and_faults(), told.cliff_and_faults()]", wrong)
