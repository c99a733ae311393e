"""The benchmarks can be run by name, and their table says which target was missed."""

from __future__ import annotations

import importlib

from benchmarks.__main__ import benchmark_names
from benchmarks.row import Row, table


def test_the_table_says_which_target_was_missed():
    text = table([Row("quick", 1.0, 2.0, "s"), Row("slow", 3.0, 2.0, "s", "5 runs")])
    quick, slow = text.splitlines()[1:]
    assert " ok " in quick
    assert "MISSED" not in quick
    assert "MISSED" in slow
    assert slow.endswith("5 runs")


def test_every_benchmark_can_be_run_by_name():
    assert benchmark_names()
    for name in benchmark_names():
        assert callable(importlib.import_module(f"benchmarks.{name}").measure)


def test_a_graph_is_walked_against_torchviz():
    from benchmarks import graph_walk

    cost = graph_walk._cost(graph_walk._chain(20), 5)
    assert cost.nodes == 21  # and AccumulateGrad
    assert cost.ratio_low <= cost.ratio <= cost.ratio_high
    assert all(us > 0 for us in (cost.walk_us, cost.edges_us, cost.getters_us, cost.torchviz_us))
