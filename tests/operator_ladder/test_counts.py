"""Exact counts: saved tensors, peak and traffic against arithmetic by hand and against a second way of counting."""

from __future__ import annotations

import pytest
import torch

from engine.operator_ladder.catalogue import CATALOGUE
from engine.operator_ladder.memory import peak_of, saved_by, traffic_of
from engine.operator_ladder.problem import build
from engine.operators.load import load
from engine.vectorisation.account import Account

ELEMENTS = (64, 256, 1)
ONE = 64 * 256 * 4
"""Bytes of x in float32."""

GELU = {"composed": (4, 7, 46), "built_in": (1, 2, 5), "atlas": (1, 2, 5)}
"""Function -> (tensors saved, peak, bytes moved), the last two in tensors of x's size.

composed saves x for x**3, the halved x and 1 + tanh for their product, and tanh; built_in and atlas save x. Fused, the
peak is the result and the gradient; moved are x and y, then grad, x and grad_x.
"""


def gelu(name: str):
    problem = build(CATALOGUE["gelu_tanh"], ELEMENTS, "float32", "forward + backward", 0)
    return problem.prepare(problem.function(name)).work


@pytest.mark.parametrize("name", GELU)
def test_gelu_saves_peaks_and_moves_what_arithmetic_says(name):
    saved, peak, moved = GELU[name]
    assert saved_by(gelu(name)) == (saved, saved * ONE)
    # a Python number in a product is a 0-dim tensor of 8 bytes for as long as the product takes
    assert 0 <= peak_of(gelu(name)) - peak * ONE <= 64
    if name != "atlas" or load().compiled:
        assert traffic_of(gelu(name)) // ONE == moved


@pytest.mark.parametrize("name", GELU)
def test_the_profiler_and_a_dispatch_mode_count_the_same_peak(name):
    work = gelu(name)
    with Account() as account:
        kept = work()
    del kept
    assert abs(peak_of(gelu(name)) - account.peak_bytes) <= 64


def test_one_allocation_is_its_own_peak():
    assert peak_of(lambda: torch.empty(1000, dtype=torch.float64)) == 8000
    assert peak_of(lambda: torch.ones(1000).sum().item()) >= 4000
