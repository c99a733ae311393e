"""What one call allocates at most is not lowered by what an earlier one left to the collector."""

from __future__ import annotations

import gc

import pytest
import torch

from engine.garbage import collector_paused
from engine.higher_order.allocated import peak_bytes
from engine.operator_ladder.memory import peak_of


class Knot:
    """A tensor that only the collector can free."""

    def __init__(self, elements: int) -> None:
        self.tensor, self.me = torch.ones(elements), self


def knot_many(elements: int) -> torch.Tensor:
    """Enough containers for a collection of the youngest, were there any."""
    kept = torch.ones(elements)
    [[number] for number in range(3 * gc.get_threshold()[0])]
    return kept


@pytest.mark.parametrize("peak", [peak_bytes, peak_of])
def test_a_peak_is_that_of_the_call(peak):
    gc.collect()
    Knot(1_000_000)
    assert peak(lambda: (gc.collect(), torch.ones(1000))) == 4000
    Knot(1_000_000)
    assert peak(lambda: knot_many(1000)) == 4000


def test_the_collector_runs_as_before_afterwards():
    before = gc.isenabled()
    with pytest.raises(ValueError, match="inside"), collector_paused():
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled() == before
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
