"""A against A beside programs that take the processors away: no winner may be named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine import run
from engine.timing.spec import TimingSpec
from engine.timing.variant import OperatorVariant

HOG = "x = 0.0\nwhile True:\n    x += 1.0\n"
COMPARISONS, ALLOWED = 24, 1
SAME = (
    OperatorVariant(operator="gelu_tanh", rows=64, columns=64),
    OperatorVariant(operator="add", rows=128, columns=256),
    OperatorVariant(operator="matmul", rows=96, columns=96),
    OperatorVariant(operator="softmax", rows=64, columns=128, mode="grad", work="forward and backward"),
)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    hogs = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@pytest.mark.slow
def test_the_same_code_has_a_winner_in_at_most_one_of_two_dozen_beside_two_busy_processes():
    found = []
    with busy_processes(2):
        for number in range(COMPARISONS):
            variant = SAME[number % len(SAME)]
            timing = run(TimingSpec(a=variant, b=variant, rounds=11, warm_up_rounds=0, seed=number), inline=True)
            assert timing.comparison is not None
            assert timing.agreement.verdict == "identical"
            found.append(timing.comparison)
    named = [one for one in found if one.winner is not None]
    told = [f"{one.ratio:.4f} ({one.ratio_low:.4f} to {one.ratio_high:.4f})" for one in named]
    assert len(named) <= ALLOWED, told
