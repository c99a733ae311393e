"""Interleaved rounds: every callable once per round, the order turned and mirrored, so that all meet the same noise.

One after the other, a busy machine favours whichever ran in the quiet moment. Identical code compared that way seems
more than 10 % apart in 18 of 40 tries, interleaved and on thread CPU time in none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from engine.timing.band import find_winner, ratios_to_first
from engine.timing.clock import Clock, accelerator_of, torch_threads, wait_for
from engine.timing.comparison import Comparison, Usage
from engine.timing.heap import settle_heap

Work = Callable[[], object]
Progress = Callable[[str, float], None]

FEWEST_ROUNDS = 5
"""Below it no band can be called 95 %: five values lie on one side of the median by chance once in 16."""
MINIMUM_SAMPLE_S = 2e-3
MOST_CALLS = 1_000_000
LONG_SAMPLE_S = 0.25
SPINNING_S = 0.005
"""OpenMP's threads spin for a while after their work, on a processor that the other side may need."""
EVENED_OUT = 4
WARMED = 0.1
"""Share of the progress that warming up takes."""


def compare(
    callables: Mapping[str, Work],
    *,
    rounds: int = 15,
    threads: int | Sequence[int] = 1,
    warm_up_rounds: int = 0,
    minimum_sample_s: float = MINIMUM_SAMPLE_S,
    device: str = "",
    budget_s: float | None = None,
    clock: Clock | None = None,
    on_progress: Progress | None = None,
) -> Comparison:
    """Time the callables against each other; the first is what the others are compared to.

    The heap is settled (engine/timing/heap.py), each is called once to warm up, then as often per sample as
    `minimum_sample_s` asks (0: once); `warm_up_rounds` are recorded apart. `threads` is one number, or one for each.
    `budget_s` wall seconds may end it after fewer rounds, never fewer than 5, which a note says. `device` names the
    accelerator of callables that return no tensor. ValueError for fewer than two callables or 5 rounds; what a
    callable raises goes through, with its name added.
    """
    threads_of = tuple([threads] * len(callables) if isinstance(threads, int) else threads)
    _check(callables, rounds, threads_of)
    settle_heap()
    with torch_threads(threads_of[0]):
        bench = _warm_up(callables, threads_of, minimum_sample_s, device, clock or Clock(), on_progress)
        warm_up = bench.run(warm_up_rounds, None, "warming up, round")
        samples = bench.run(rounds, budget_s, "round")
    return bench.compared(warm_up, samples, rounds, budget_s)


def _check(callables: Mapping[str, Work], rounds: int, threads: Sequence[int]) -> None:
    if len(callables) < 2:
        raise ValueError(f"compare() needs at least 2 callables; received {len(callables)}. Name what to compare with.")
    if rounds < FEWEST_ROUNDS:
        raise ValueError(f"rounds must be at least {FEWEST_ROUNDS}; received {rounds}. Fewer give no 95 % band.")
    if len(threads) != len(callables):
        raise ValueError(f"threads must be one number or {len(callables)}; received {len(threads)}. Give one for each.")
    if min(threads) < 1:
        raise ValueError(f"threads must be at least 1; received {min(threads)}. Use 1 for thread CPU time.")


@dataclass(frozen=True)
class _Sample:
    """Seconds per call, and what the system counted for all calls of the sample together."""

    cpu_s: float
    wall_s: float
    usage: Usage


Rounds = Sequence[Sequence[_Sample]]


@dataclass(frozen=True)
class _Bench:
    """The callables, warmed up, with the calls one sample of each needs."""

    names: tuple[str, ...]
    work: tuple[Work, ...]
    calls: tuple[int, ...]
    first_call_s: tuple[float, ...]
    threads: tuple[int, ...]
    clock: Clock
    device: str
    progress: Progress

    @property
    def by_wall(self) -> bool:
        return max(self.threads) > 1 or bool(self.device)

    def run(self, rounds: int, budget_s: float | None, stage: str) -> Rounds:
        """One sample for each name, for every round."""
        wait, start, done = wait_for(self.device), self.clock.wall(), list[list[_Sample]]()
        for number in range(rounds):
            if number >= FEWEST_ROUNDS and budget_s is not None:
                spent = self.clock.wall() - start
                if spent * (number + 1) / number > budget_s:
                    break
            self.progress(f"{stage} {number + 1} of {rounds}", WARMED + (1 - WARMED) * number / rounds)
            done.append(self._round(number, wait))
        return done

    def _round(self, number: int, wait: Callable[[], None]) -> list[_Sample]:
        found: dict[int, _Sample] = {}
        for one in order_of(number, len(self.names)):
            with self._threads_for(one):
                found[one] = self._sample(one, wait)
        return [found[one] for one in range(len(self.names))]

    @contextmanager
    def _threads_for(self, one: int) -> Iterator[None]:
        """The threads of this name; where they change, idle ones fall asleep and an untimed call wakes the rest."""
        if len(set(self.threads)) == 1:
            yield
            return
        with torch_threads(self.threads[one]):
            time.sleep(SPINNING_S)
            self.work[one]()
            yield

    def _sample(self, one: int, wait: Callable[[], None]) -> _Sample:
        before = self.clock.usage()
        cpu, wall = self.clock.sample(self.work[one], self.calls[one], wait)
        usage, least, calls = self.clock.usage() - before, self.clock.resolution_s, self.calls[one]
        return _Sample(max(cpu, least) / calls, max(wall, least) / calls, usage)

    def compared(self, warm_up: Rounds, done: Rounds, asked: int, budget_s: float | None) -> Comparison:
        cpu_s, wall_s = self._columns(done, lambda one: one.cpu_s), self._columns(done, lambda one: one.wall_s)
        judged = wall_s if self.by_wall else cpu_s
        faults = self._columns(done, lambda one: float(one.usage.minor_faults))
        short = f"{len(done)} of {asked} rounds: the rest would have gone over the limit of {budget_s} s."
        return Comparison(
            names=self.names,
            calls=self.calls,
            cpu_s=cpu_s,
            wall_s=wall_s,
            threads=max(self.threads),
            ratios=ratios_to_first(self.names, judged),
            winner=find_winner(self.names, judged),
            clock="wall" if self.by_wall else "thread CPU",
            first_call_s=self.first_call_s,
            rounds_asked=asked,
            notes=(short,) if len(done) < asked else (),
            threads_of=self.threads if len(set(self.threads)) > 1 else (),
            warm_up_cpu_s=self._columns(warm_up, lambda one: one.cpu_s) if warm_up else (),
            warm_up_wall_s=self._columns(warm_up, lambda one: one.wall_s) if warm_up else (),
            faults=tuple(tuple(f / calls for f in row) for row, calls in zip(faults, self.calls, strict=True)),
            usage=tuple(sum((r[one].usage for r in done), Usage()) for one in range(len(self.names))),
        )

    def _columns(self, done: Rounds, read: Callable[[_Sample], float]) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(read(one_round[one]) for one_round in done) for one in range(len(self.names)))


def order_of(number: int, count: int) -> list[int]:
    """Positions of round `number`: turned by one every round, mirrored every other block (two: ab ba ba ab)."""
    turned = [(number + position) % count for position in range(count)]
    return turned[::-1] if number // count % 2 else turned


def _warm_up(
    callables: Mapping[str, Work],
    threads: tuple[int, ...],
    minimum_sample_s: float,
    device: str,
    clock: Clock,
    on_progress: Progress | None,
) -> _Bench:
    progress = on_progress or (lambda stage, fraction: None)
    firsts, calls = [], []
    for number, (name, work) in enumerate(callables.items()):
        progress(f"warming up {name}", WARMED * number / len(callables))
        try:
            with torch_threads(threads[number]):
                start = clock.wall()
                device = device or accelerator_of(work())
                wait_for(device)()
                firsts.append(clock.wall() - start)
                least_s = max(minimum_sample_s, 100 * clock.resolution_s) if minimum_sample_s else 0.0
                calls.append(calls_per_sample(work, least_s, clock, device, by_wall=max(threads) > 1 or bool(device)))
        except Exception as error:
            error.add_note(f"while timing {name!r}")
            raise
    names, work_of = tuple(callables), tuple(callables.values())
    return _Bench(names, work_of, even_out(calls), tuple(firsts), threads, clock, device, progress)


def calls_per_sample(work: Work, least_s: float, clock: Clock, device: str, *, by_wall: bool) -> int:
    """How many calls last `least_s` on the clock that counts, or ten times as long on the wall."""
    calls, wait = 1, wait_for(device)
    while least_s:
        reached = _steady_s(work, calls, clock, wait, by_wall=by_wall)
        if reached >= least_s or calls >= MOST_CALLS:
            break
        calls = min(MOST_CALLS, math.ceil(calls * min(max(1.2 * least_s / max(reached, 1e-9), 2.0), 100.0)))
    return calls


def _steady_s(work: Work, calls: int, clock: Clock, wait: Callable[[], None], *, by_wall: bool) -> float:
    """Seconds a sample lasts, the lesser of two unless one takes long: an interrupted one would leave `calls` at 1.

    Identical code with 1 call against 16 was 8 times apart.
    """
    seconds: list[float] = []
    while len(seconds) < 2:
        cpu, wall = clock.sample(work, calls, wait)
        seconds.append(max(wall if by_wall else cpu, wall / 10))
        if wall > LONG_SAMPLE_S:
            break
    return min(seconds)


def even_out(calls: Sequence[int]) -> tuple[int, ...]:
    """Counts up to four times apart become one, the largest: the first call of a sample meets cold caches.

    With 6 calls against 38 that alone made identical work 10 % apart.
    """
    found = list(calls)
    for place in sorted(range(len(calls)), key=lambda place: -calls[place]):
        largest = max(count for count in found if calls[place] <= count <= EVENED_OUT * calls[place])
        found[place] = largest
    return tuple(found)
