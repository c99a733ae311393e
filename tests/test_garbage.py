"""What one call allocates at most is not lowered by what an earlier one left to the collector."""

from __future__ import annotations

import gc

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from engine.garbage import collected_before
from engine.higher_order.allocated import peak_bytes
from engine.operator_ladder.memory import peak_of


class Knot:
    """A tensor that only the collector can free."""

    def __init__(self, elements: int) -> None:
        self.tensor, self.me = torch.ones(elements), self


def leave_to_a_full_collection(elements: int) -> None:
    """As an earlier profiled call does: of what was allocated outside of a profile the allocator tells no size."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True):
        knot = Knot(elements)
    gc.collect()  # it lives, so that it is old and no collection of the young will find it
    assert knot.me is knot


@pytest.mark.parametrize("peak", [peak_bytes, peak_of])
def test_a_peak_is_that_of_the_call(peak):
    leave_to_a_full_collection(1_000_000)
    assert peak(lambda: (gc.collect(), torch.ones(1000))) == 4000


def test_the_collector_runs_as_before_afterwards():
    before = gc.isenabled()
    with pytest.raises(ZeroDivisionError), collected_before():
        1 / gc.isenabled()
    assert gc.isenabled() == before
    gc.disable()
    try:
        with collected_before():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
