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


def test_a_speedup_is_reached_from_below():
    text = table([Row("fast", 3.0, 2.0, "x", at_least=True), Row("slow", 1.0, 2.0, "x", at_least=True)])
    fast, slow = text.splitlines()[1:]
    assert ">= 2 x" in fast
    assert "MISSED" not in fast
    assert "MISSED" in slow


def test_an_operator_is_told_with_what_bounds_it(monkeypatch):
    from benchmarks import operators
    from engine.operator_ladder.results import Ceiling, Roofline

    copy = Ceiling(name="copy", kind="bytes", per_call=10**9, working_set_bytes=1, samples_s=(1.0,), code="")
    fma = Ceiling(name="fma", kind="flops", per_call=10**15, working_set_bytes=0, samples_s=(1.0,), code="")
    limits = Roofline(ceilings=(copy, fma), cache_bytes=1, shared_cache_bytes=1, threads=1)
    monkeypatch.setattr(operators, "roofline", lambda threads: limits)
    monkeypatch.setattr(operators, "ROUNDS", 5)
    target = operators.Target("gelu_tanh", (3, 10, 1), {"built-in": 1.0, "composed": 1.0})
    built_in, composed = operators._rows(target, 1, compiled=False)
    assert "faster than built-in" in built_in.what
    assert "faster than composed" in composed.what
    assert "of 1.0 GB/s (copy)" in built_in.detail
    assert built_in.at_least


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
