"""What the ledger says of a trace made by hand is what adding up by hand says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory.blocks import CATEGORIES
from engine.memory.ledger import (
    MOMENTS,
    bytes_at,
    bytes_by,
    change,
    growth,
    last_step,
    live_totals,
    moment_event,
    peak_event,
    phase_at,
    phase_numbers,
    stretch,
    telling_events,
)
from tests.figures.memory_traces import LIVE, held, trace_of, two_steps


def test_live_bytes_and_moments_of_two_steps():
    trace = two_steps()
    assert tuple(live_totals(trace).tolist()) == LIVE
    assert last_step(trace) == 2
    assert [moment_event(trace, moment, 1) for moment in MOMENTS] == [3, 7, 6, 7, 8]
    assert [moment_event(trace, moment, 2) for moment in MOMENTS] == [10, 11, 11, None, 12]
    assert [moment_event(trace, moment, 3) for moment in MOMENTS] == [None] * 5
    assert peak_event(trace) == 11
    assert peak_event(trace, 1) == 7
    assert stretch(trace, 2) == (9, 13)
    assert stretch(trace, None) == stretch(trace, 9) == (0, 13)
    assert [phase_at(trace, event).name for event in (0, 5, 6, 8)] == ["build", "recompute", "backward", "zero_grad"]
    assert phase_at(trace, 13) is None
    assert [trace.phases[number] for number in phase_numbers(trace)] == [phase_at(trace, event) for event in range(13)]


def test_what_is_alive_by_group_and_what_changed():
    trace = two_steps()
    found = bytes_at(trace, 7)
    assert tuple(found) == CATEGORIES
    assert {name: size for name, size in found.items() if size} == {
        "parameter": 400,
        "input": 80,
        "optimizer_state": 800,
        "gradient": 400,
        "saved": 120,
        "output": 4,
    }
    assert bytes_by(trace, 7, "module") == {"(outside of modules)": 1284, "linear": 520}
    assert bytes_by(trace, 5, "operation") == {"aten::empty": 604, "aten::mm": 600}
    assert sum(bytes_by(trace, 7, "source line").values()) == LIVE[7]
    between = change(trace, 6, 8)
    assert between.bytes == {"gradient": -400, "optimizer_state": 800}
    assert (between.came, between.went, between.total_bytes) == ((6,), (4,), LIVE[8] - LIVE[6])
    assert change(trace, -1, 1).total_bytes == 480
    assert not change(trace, 4, 6).came, "a block born and gone in between is in neither"


def test_growth_from_step_to_step():
    first, second = growth(two_steps())
    assert (first.live_bytes, first.more) == (1404, {"saved": 120, "output": 4, "optimizer_state": 800})
    assert (second.live_bytes, second.more) == (1528, {"saved": 120, "output": 4})


def test_a_run_without_events_has_no_moments():
    nothing = trace_of([], (), 0)
    assert peak_event(nothing) is None
    assert moment_event(nothing, "the peak", 1) is None
    assert growth(nothing) == ()
    assert live_totals(nothing).size == 0
    assert trace_of([held(4, 0, -1, "input")], (), 1).blocks.alive_at(0).tolist() == [0]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=400), st.integers(1, 12), st.data())
@settings(max_examples=60, deadline=None)
def test_decimating_loses_no_extreme_of_any_row(values, columns, data):
    live = np.array([values, values[::-1]], dtype=np.int64)
    first = data.draw(st.integers(0, len(values) - 1))
    after = data.draw(st.integers(first + 1, len(values)))
    kept = telling_events(live, first, after, columns)
    assert kept[0] == first
    assert kept[-1] == after - 1
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= max(2 * columns, (2 + 2 * 3) * columns)
    for row in (*live, live.sum(axis=0)):
        assert row[kept].max() == row[first:after].max()
        assert row[kept].min() == row[first:after].min()


@pytest.mark.parametrize("columns", [1, 3, 1000])
def test_every_column_keeps_its_own_extremes(columns):
    row = np.random.default_rng(0).integers(0, 10**6, (1, 500))
    kept = telling_events(row, 0, 500, columns)
    edges = np.unique(np.linspace(0, 500, min(columns, 500) + 1).astype(int))
    for start, end in pairwise(edges):
        inside = kept[(kept >= start) & (kept < end)]
        assert row[0, inside].max() == row[0, start:end].max()
        assert row[0, inside].min() == row[0, start:end].min()
