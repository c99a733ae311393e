"""The launcher that runs CUDA kernels on the CPU: it computes what a GPU would, and lets no fault pass."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.operators.host import HERE, compile_library

pytestmark = pytest.mark.slow
Run = Callable[..., tuple[str, np.ndarray]]


@pytest.fixture(scope="module")
def run() -> Run:
    library = ctypes.CDLL(str(compile_library("faulty_kernels", (HERE / "faulty_kernels.cpp").read_text())))
    library.run.restype = ctypes.c_char_p

    def call(kernel: str, x: np.ndarray) -> tuple[str, np.ndarray]:
        y = np.full(64, np.nan)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y)]
        return library.run(kernel.encode(), *pointers, len(x)).decode(), y

    return call


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_a_block_sum_by_shuffles_and_shared_memory(run: Run, count: int):
    x = np.arange(1.0, count + 1)
    fault, y = run("right_block_sum", x)
    assert (fault, y[0]) == ("", count * (count + 1) / 2)


def test_a_warp_barrier_orders_the_warp(run: Run):
    x = np.arange(64.0)
    fault, y = run("reverse_by_warp", x)
    assert fault == ""
    assert y.tolist() == [*reversed(range(32)), *reversed(range(32, 64))]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("forgotten_barrier", r"race: row\[\d+\] is read without a barrier|read before it is written: row\[63\]"),
        ("overwritten_too_early", r"race: row\[\d+\] is written without a barrier"),
        ("barrier_in_a_branch", r"barrier divergence: thread 0 waits at .*, thread 40 has returned"),
        ("two_barriers_of_a_branch", r"barrier divergence: thread 0 waits at .*, thread 32 waits at"),
        ("shuffle_after_a_return", r"warp diverged: lane 0 waits at .* for lane 21, which has returned"),
        ("one_past_the_end", r"out of bounds: row\[63\] of 63"),
        ("never_written", r"read before it is written: row\[0\]"),
        ("too_many_threads", r"a grid no GPU accepts: 1025 threads"),
    ],
)
def test_a_fault_is_said(run: Run, kernel: str, said: str):
    fault, _ = run(kernel, np.arange(64.0))
    assert re.search(said, fault), fault


def test_after_a_fault_the_next_kernel_runs(run: Run):
    run("barrier_in_a_branch", np.arange(64.0))
    assert run("right_block_sum", np.ones(7))[1][0] == 7
