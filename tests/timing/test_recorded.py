"""What a comparison records beside its samples: warm-up rounds, page faults, threads of each side, chance."""

from __future__ import annotations

import mmap
import sys
from statistics import median

import pytest
import torch

from engine.timing import compare
from engine.timing.band import sign_test
from engine.timing.comparison import DOUBT, Ratio, Usage
from engine.timing.machine_load import Reading, between, read_machine
from tests.timing.fake_clock import FakeTime

PAGES = 64


def test_rounds_to_warm_up_are_recorded_and_in_no_ratio():
    time, seen = FakeTime(), []

    def settling() -> None:
        seen.append(1)
        time.cpu += 1e-3 if len(seen) > 4 else 8e-3  # the first call, then three rounds

    found = compare(
        {"a": time.work("a", 1e-3), "b": settling},
        rounds=5,
        warm_up_rounds=3,
        minimum_sample_s=0,
        clock=time.clock,
    )
    assert found.warm_up_cpu_s == (pytest.approx((1e-3,) * 3), pytest.approx((8e-3,) * 3))
    assert found.rounds == 5
    assert found.ratio == pytest.approx(1.0)


def test_without_rounds_to_warm_up_none_are_there():
    assert compare({"a": lambda: 1, "b": lambda: 2}, rounds=5).warm_up_s == ()


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted on Linux")
def test_fresh_pages_are_counted_as_faults_of_their_side():
    def touch() -> None:
        with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as fresh:
            for page in range(PAGES):
                fresh[page * mmap.PAGESIZE] = 1

    found = compare({"touch": touch, "add": lambda: 1 + 1}, rounds=5, minimum_sample_s=0)
    assert median(found.faults[0]) >= PAGES
    assert median(found.faults[1]) < PAGES
    assert found.usage[0].minor_faults >= 5 * PAGES


def test_usage_adds_and_subtracts_by_field():
    total = Usage(1.0, 2.0, 3, 4, 5, 6) + Usage(0.5, 0.5, 1, 1, 1, 1)
    assert total == Usage(1.5, 2.5, 4, 5, 6, 7)
    assert total - Usage(1.0, 2.0, 3, 4, 5, 6) == Usage(0.5, 0.5, 1, 1, 1, 1)


def test_each_side_has_its_own_threads_and_wall_time_counts():
    seen = {"one": set(), "two": set()}
    before = torch.get_num_threads()
    work = {name: lambda name=name: seen[name].add(torch.get_num_threads()) for name in seen}
    found = compare(work, rounds=5, threads=(1, 2))
    assert seen == {"one": {1}, "two": {2}}
    assert (found.threads, found.threads_of, found.clock) == (2, (1, 2), "wall")
    assert torch.get_num_threads() == before


def test_as_many_threads_as_sides_are_needed():
    with pytest.raises(ValueError, match="threads must be one number or 2; received 3"):
        compare({"a": lambda: 1, "b": lambda: 2}, threads=(1, 2, 1))


@pytest.mark.parametrize(
    ("above", "below", "wanted"),
    [(15, 0, 2 / 2**15), (14, 1, 2 * 16 / 2**15), (3, 2, 1.0), (0, 5, 2 / 2**5), (0, 0, 1.0)],
)
def test_chance_is_that_of_fair_coins(above, below, wanted):
    assert sign_test([2.0] * above + [0.5] * below + [1.0]) == pytest.approx(wanted)


def test_thirteen_of_fifteen_rounds_are_not_enough_and_fourteen_are():
    thirteen, fourteen = (sign_test([1.1] * count + [0.9] * (15 - count)) for count in (13, 14))
    assert fourteen < DOUBT < thirteen
    assert not Ratio("b", "a", 1.1, 1.05, 1.15, thirteen, 15).shows_a_difference
    assert Ratio("b", "a", 1.1, 1.05, 1.15, fourteen, 15).shows_a_difference


def test_of_few_rounds_all_must_agree():
    assert Ratio("b", "a", 2.0, 1.9, 2.1, sign_test([2.0] * 5), 5).shows_a_difference
    assert not Ratio("b", "a", 2.0, 1.9, 2.1, sign_test([2.0] * 4 + [0.9]), 5).shows_a_difference


def test_one_interrupted_sample_does_not_decide_how_many_calls_a_sample_has():
    time, calls = FakeTime(), []

    def interrupted_once() -> None:
        calls.append(1)
        time.cpu += 1e-5
        time.wall += 0.05 if len(calls) == 2 else 1e-5  # the call after the first one

    found = compare({"a": interrupted_once, "b": time.work("b", 1e-5)}, clock=time.clock, rounds=5)
    assert found.calls[0] == found.calls[1] >= 200


def reading(wall: float, **values) -> Reading:
    usual = {"own_s": 0.0, "busy_s": 0.0, "steal_s": 0.0, "throttled_s": None, "processes": {}, "load_average": 1.5}
    return Reading(wall_s=wall, **usual | values)


def test_others_are_what_the_machine_did_beyond_this_process():
    start = reading(10.0, processes={7: 1.0, 8: 0.0})
    end = reading(12.0, own_s=2.0, busy_s=5.0, steal_s=0.5, processes={7: 2.0, 8: 0.1, 9: 1.9})
    found = between(start, end)
    assert (found.others_busy, found.steal, found.busy_processes, found.throttled_s) == (1.5, 0.25, 2, None)
    assert found.load_average == 1.5
    assert found.is_loaded


def test_what_cannot_be_read_is_none_and_no_load():
    found = between(reading(0.0, busy_s=None, steal_s=None), reading(1.0, busy_s=None, steal_s=None))
    assert (found.others_busy, found.steal, found.busy_processes) == (None, None, None)
    assert not found.is_loaded


def test_this_machine_can_be_read():
    found = between(read_machine(), read_machine())
    assert found.cores >= 1
