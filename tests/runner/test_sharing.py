"""The same spec asked for by many at a time is computed once, and each keeps a job of its own."""

from __future__ import annotations

import threading
import time

import pytest

from engine.runner.faults import Fault
from tests.runner.misbehaving.spec import EndSpec, GatedSpec, MeasuredSleepSpec, SleepSpec, StuckSpec
from tests.runner.test_jobs import _kind_of, _until


@pytest.fixture
def busy(forking):
    """All four workers taken, so that what is submitted waits."""
    jobs = [forking.submit(SleepSpec(seconds=15, number=1000 + i), fresh=True) for i in range(4)]
    _until(lambda: all(job.stage == "sleeping" for job in jobs))
    yield jobs
    for job in jobs:
        job.cancel()


def _spec():
    return SleepSpec(seconds=0.3, number=time.monotonic_ns())


def test_thirty_browsers_at_once_are_one_computation(forking):
    spec, jobs, together = _spec(), [], threading.Barrier(30)

    def open_browser():
        together.wait()
        jobs.append(forking.submit(SleepSpec(seconds=spec.seconds, number=spec.number)))

    browsers = [threading.Thread(target=open_browser) for _ in range(30)]
    for browser in browsers:
        browser.start()
    for browser in browsers:
        browser.join()
    assert len(set(map(id, jobs))) == 30
    assert len({job.result().numbers for job in jobs}) == 1  # the result is a clock reading
    assert {(job.state, job.fraction, job.position) for job in jobs} == {("done", 1.0, 0)}
    assert forking.submit(spec).result() is jobs[0].result()


def test_a_computation_takes_one_place_in_the_queue_and_shows_it_to_all(forking, busy):
    first, other, again = _spec(), _spec(), forking.submit(_spec())
    jobs = [forking.submit(spec) for spec in (first, first, other, first)]
    assert [job.position for job in (again, *jobs)] == [1, 2, 2, 3, 2]
    assert forking.status().waiting == 3
    busy[0].cancel()
    assert jobs[0].result() is jobs[3].result()
    assert jobs[2].result() != jobs[0].result()


def test_progress_is_shown_to_all_also_to_who_comes_later(forking, gate):
    spec = GatedSpec(gate=str(gate))
    early = forking.submit(spec)
    _until(lambda: early.stage == "at the gate")
    late, told = forking.submit(spec), []
    assert (late.state, late.stage, late.fraction) == ("running", "at the gate", 0.5)
    late_s = late.elapsed_s
    assert late_s < early.elapsed_s

    def hear(stage, fraction):
        told.append((stage, fraction))
        gate.touch()

    late.follow(hear)
    assert told == [("at the gate", 0.5)]
    assert late.result() is early.result()


def test_who_cancels_leaves_the_others_alone(forking, gate):
    spec = GatedSpec(gate=str(gate))
    one, other = forking.submit(spec), forking.submit(spec)
    _until(lambda: one.stage == "at the gate")
    one.cancel()
    assert _kind_of(one) == "cancelled"
    assert other.state == "running"
    gate.touch()
    assert other.result().numbers


@pytest.mark.parametrize("begun", [True, False], ids=["running", "queued"])
def test_it_is_given_up_when_the_last_has_cancelled(forking, request, begun):
    if not begun:
        request.getfixturevalue("busy")
    spec = SleepSpec(seconds=15, number=time.monotonic_ns())
    _until(lambda: forking.status().running == (0 if begun else 4))  # jobs cancelled by an earlier test have left
    before = forking.status()
    jobs = [forking.submit(spec) for _ in range(3)]
    if begun:
        _until(lambda: jobs[0].stage == "sleeping")
    for job in jobs:
        assert (forking.status().running, forking.status().waiting) == (before.running + begun, not begun)
        job.cancel()
    _until(lambda: (forking.status().running, forking.status().waiting) == (before.running, before.waiting))
    assert [_kind_of(job) for job in jobs] == ["cancelled"] * 3


def test_who_comes_after_the_last_has_cancelled_gets_a_new_computation(forking):
    spec = _spec()
    forking.submit(spec).cancel()
    assert forking.submit(spec).result().numbers


@pytest.mark.parametrize(("spec", "kind"), [(EndSpec(how="segfault"), "crash"), (StuckSpec(), "timeout")])
def test_a_fault_is_delivered_to_all_and_not_kept(forking, spec, kind):
    jobs = [forking.submit(spec) for _ in range(3)]
    faults = []
    for job in jobs:
        with pytest.raises(Fault) as caught:
            job.result()
        faults.append(caught.value)
    assert {fault.kind for fault in faults} == {kind}
    assert len({id(fault) for fault in faults}) == 3  # an exception belongs to who raises it
    again = forking.submit(spec)
    assert again.state != "done"
    again.cancel()


def test_fresh_and_measured_specs_are_each_computed(forking):
    spec = _spec()
    jobs = [forking.submit(spec), forking.submit(spec, fresh=True), forking.submit(spec, fresh=True)]
    assert len({job.result().numbers for job in jobs}) == 3
    measured = MeasuredSleepSpec(seconds=0.0, number=spec.number)
    jobs = [forking.submit(measured), forking.submit(measured)]
    assert len({job.result().numbers for job in jobs}) == 2


def test_joining_and_leaving_at_random_ends_every_job(forking):
    """Twenty threads submit the same six specs and cancel half of them: each job ends, none is left in the queue."""
    ended = []

    def visit(number):
        for turn in range(6):
            job = forking.submit(SleepSpec(seconds=0.01, number=-1 - turn))
            if (number + turn) % 2:
                time.sleep(0.003 * (number % 5))
                job.cancel()
            assert job.wait(60.0)
            ended.append(job)

    visitors = [threading.Thread(target=visit, args=(number,)) for number in range(20)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len(ended) == 120
    _until(lambda: not forking._shared)
    _until(lambda: (forking.status().running, forking.status().waiting) == (0, 0))
