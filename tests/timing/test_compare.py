"""compare(): interleaved, paired, honest about doubt, and leaving the process as it was."""

from __future__ import annotations

import gc
from collections import Counter
from itertools import groupby, pairwise
from statistics import median

import pytest
import torch

from engine.timing import compare
from engine.timing.rounds import FEWEST_ROUNDS, even_out, order_of
from tests.timing.fake_clock import FakeTime


def timed(costs: dict[str, float], **options):
    time = FakeTime()
    return compare({name: time.work(name, cost) for name, cost in costs.items()}, clock=time.clock, **options), time


def test_twice_the_work_is_told_as_twice_the_time():
    found, _ = timed({"once": 1e-3, "twice": 2e-3})
    assert (found.ratio, found.ratio_low, found.ratio_high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.winner == "once"
    assert found.seconds_of("once") == pytest.approx(1e-3)
    assert found.seconds_of("twice") == pytest.approx(2e-3)


def test_equal_work_has_no_winner():
    found, _ = timed({"a": 1e-3, "b": 1e-3, "c": 1e-3})
    assert found.winner is None
    assert not any(ratio.shows_a_difference for ratio in found.ratios)


def test_there_is_no_winner_when_the_fastest_two_are_equal():
    found, _ = timed({"slow": 4e-3, "fast": 1e-3, "also fast": 1e-3})
    assert found.winner is None
    assert [ratio.shows_a_difference for ratio in found.ratios] == [True, True]


def test_a_difference_below_the_resolution_of_the_method_is_not_shown():
    found, _ = timed({"a": 1.00e-3, "b": 1.01e-3})
    assert found.ratio == pytest.approx(1.01)
    assert found.winner is None


def test_what_was_really_run_is_what_is_reported():
    """Exact work counts and the arithmetic on real clocks; how fast this machine is does not matter."""
    counts = Counter()

    def count(name: str) -> None:
        counts[name] += 1
        sum(range(500))

    found = compare({"a": lambda: count("a"), "b": lambda: count("b")}, rounds=9, minimum_sample_s=1e-4)
    for name, calls in zip(found.names, found.calls, strict=True):
        assert counts[name] > 9 * calls + 1  # the rounds, the call that warms up, and tries to find `calls`
    assert found.rounds == 9
    assert all(sample > 0 for samples in (*found.cpu_s, *found.wall_s) for sample in samples)
    assert found.ratio == median(b / a for a, b in zip(*found.cpu_s, strict=True))
    assert found.ratio_low <= found.ratio <= found.ratio_high


def test_rounds_are_interleaved_and_no_place_is_privileged():
    found, time = timed({"a": 1e-3, "b": 1e-3, "c": 1e-3}, rounds=18, minimum_sample_s=0)
    assert found.calls == (1, 1, 1)
    measured = time.calls[3:]  # after one call of each to warm up
    rounds = [tuple(measured[start : start + 3]) for start in range(0, len(measured), 3)]
    assert len(rounds) == 18
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    for place in range(3):
        assert Counter(one[place] for one in rounds) == {"a": 6, "b": 6, "c": 6}
    followers = Counter(pair for one in rounds for pair in pairwise(one))
    assert len(followers) == 6  # each is also followed by each


def test_two_are_measured_ab_ba_ba_ab():
    assert ["".join("ab"[i] for i in order_of(number, 2)) for number in range(4)] == ["ab", "ba", "ba", "ab"]


def test_a_drifting_machine_does_not_change_the_verdict():
    """Every call is slower than the one before; one after the other, the second would look slower."""
    time = FakeTime()

    def drifting() -> None:
        time.cpu += 1e-3 * (1 + len(time.calls) / 100)
        time.wall = time.cpu
        time.calls.append("")

    found = compare({"a": drifting, "b": lambda: drifting()}, rounds=16, clock=time.clock, minimum_sample_s=0)
    assert found.ratio == pytest.approx(1.0, abs=0.01)
    assert found.winner is None


def test_calls_are_repeated_until_a_sample_is_long_enough():
    found, time = timed({"short": 1e-6, "long": 5e-3}, rounds=5, minimum_sample_s=2e-3)
    short, long = found.calls
    assert short * 1e-6 >= 2e-3
    assert long == 1
    runs = [(name, len(list(same))) for name, same in groupby(time.calls[-5 * (short + long) :])]
    assert sum(count for name, count in runs if name == "short") == 5 * short
    assert found.seconds_of("short") == pytest.approx(1e-6)


def test_work_that_only_waits_ends():
    time = FakeTime()
    found = compare({"sleep": time.work("sleep", 0.0, 1e-3), "nap": time.work("nap", 0.0, 1e-3)}, clock=time.clock)
    assert found.calls[0] < 100
    assert found.winner is None


def test_one_thread_is_judged_by_cpu_time_and_more_by_wall_time():
    time = FakeTime()
    work = {"spread": time.work("spread", 4e-3, 1e-3), "alone": time.work("alone", 2e-3, 2e-3)}
    by_cpu = compare(work, clock=time.clock)
    by_wall = compare(work, clock=time.clock, threads=2)
    assert (by_cpu.clock, by_cpu.ratio) == ("thread CPU", pytest.approx(0.5))
    assert (by_wall.clock, by_wall.ratio) == ("wall", pytest.approx(2.0))
    assert by_cpu.wall_s[0] == pytest.approx([1e-3] * 15)
    assert (by_cpu.winner, by_wall.winner) == ("alone", "spread")


def test_a_budget_ends_it_early_and_says_so():
    found, _ = timed({"a": 0.1, "b": 0.1}, rounds=50, budget_s=2.0)
    assert FEWEST_ROUNDS < found.rounds <= 10  # 0.2 s a round
    assert found.rounds_asked == 50
    assert found.notes == (f"{found.rounds} of 50 rounds: the rest would have gone over the limit of 2.0 s.",)


def test_a_budget_never_leaves_fewer_than_five_rounds():
    found, _ = timed({"a": 10.0, "b": 10.0}, budget_s=0.1)
    assert found.rounds == FEWEST_ROUNDS


def test_the_first_call_is_told_apart():
    time = FakeTime()

    def cold_then_warm() -> None:
        time.wall += 0.001 if time.calls else 3.0
        time.cpu += 0.001
        time.calls.append("")

    found = compare({"cold": cold_then_warm, "b": time.work("b", 1e-3)}, clock=time.clock)
    assert found.first_call_s[0] == pytest.approx(3.0)
    assert max(found.wall_s[0]) < 0.01


def test_collection_is_held_back_while_timing_and_back_afterwards():
    states = []
    assert gc.isenabled()
    compare({"a": lambda: states.append(gc.isenabled()), "b": lambda: None}, rounds=5, minimum_sample_s=1e-5)
    assert states[0] is True  # to warm up
    assert set(states[1:]) == {False}
    assert gc.isenabled()


def test_threads_of_torch_are_set_and_put_back():
    before, seen = torch.get_num_threads(), set()
    compare({"a": lambda: seen.add(torch.get_num_threads()), "b": lambda: None}, threads=2, rounds=5)
    assert seen == {2}
    assert torch.get_num_threads() == before


def test_an_accelerator_is_waited_for_and_judged_by_wall(monkeypatch):
    waits = []
    monkeypatch.setattr(torch.accelerator, "synchronize", waits.append)

    class OnCuda:
        device = torch.device("cuda:0")

    time = FakeTime()
    work = {"a": time.work("a", 1e-3), "b": time.work("b", 1e-3)}
    found = compare({n: lambda w=w: (w(), OnCuda())[1] for n, w in work.items()}, rounds=5, clock=time.clock)
    assert found.clock == "wall"
    assert set(waits) == {torch.device("cuda:0")}
    assert len(waits) >= 2 * 2 * 5  # before and after every sample


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        ((), {}, "needs at least 2 callables; received 0"),
        (("a",), {}, "needs at least 2 callables; received 1"),
        (("a", "b"), {"rounds": 4}, "rounds must be at least 5; received 4"),
        (("a", "b"), {"threads": 0}, "threads must be at least 1; received 0"),
    ],
)
def test_nonsense_is_refused_in_words(names, options, words):
    with pytest.raises(ValueError, match=words):
        compare({name: lambda: None for name in names}, **options)


def test_an_error_names_who_raised_it():
    def fail() -> None:
        raise RuntimeError("no such kernel")

    with pytest.raises(RuntimeError, match="no such kernel") as caught:
        compare({"good": lambda: None, "bad": fail})
    assert caught.value.__notes__ == ["while timing 'bad'"]


@pytest.mark.slow
def test_identical_code_has_no_winner_in_95_of_100():
    a = torch.randn(64, 64)
    winners = [compare({"a": lambda: a + a, "b": lambda: a + a}, minimum_sample_s=1e-3).winner for _ in range(100)]
    assert winners.count(None) >= 95


def test_calls_of_like_size_are_made_equal():
    assert even_out([6, 38, 52]) == (6, 52, 52)
    assert even_out([10, 10]) == (10, 10)
    assert even_out([1, 3, 100, 30]) == (3, 3, 100, 100)
    assert even_out([1, 5]) == (1, 5)
