"""Jobs as a page sees them: progress, cancel, cache, queue, and that two jobs never touch each other."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from engine.graph.spec import GraphSpec
from engine.runner.dispatch import Dispatcher
from engine.runner.faults import Fault
from engine.runner.wire import Exit
from tests.runner.misbehaving.spec import (
    EchoSpec,
    GatedSpec,
    MeasuredGatedSpec,
    MeasuredSleepSpec,
    NoisySpec,
    ProgressSpec,
    SleepSpec,
    StateSpec,
    ThreadsSpec,
)


def _until(condition, limit_s=60.0):
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, "did not come about in time"
        time.sleep(0.005)


def _kind_of(job):
    with pytest.raises(Fault) as caught:
        job.result()
    return caught.value.kind


def follow_step_by_step(job) -> list[tuple[str, float]]:
    """What a job of ProgressSpec told; it goes on to the next step when this one has been heard."""
    told = []

    def hear(stage, fraction):
        told.append((stage, fraction))
        Path(job.spec.gates, stage).touch()

    job.follow(hear)
    return told


def test_progress_arrives_in_order(engine, tmp_path):
    job = engine.submit(ProgressSpec(steps=4, gates=str(tmp_path)), fresh=True)
    told = follow_step_by_step(job)
    stages = [stage for stage, _ in told if stage.startswith("step")]
    assert stages == [f"step {i}" for i in range(4)]
    assert [fraction for stage, fraction in told if stage.startswith("step")] == [0.0, 0.25, 0.5, 0.75]
    assert (job.state, job.fraction, job.position) == ("done", 1.0, 0)


def test_a_flood_of_progress_does_not_delay_the_result(engine):
    assert engine.submit(ProgressSpec(steps=5_000), fresh=True).result().text == "done"


def test_cancelled_while_running(engine):
    job = engine.submit(SleepSpec(seconds=15), fresh=True)
    _until(lambda: job.stage == "sleeping")
    job.cancel()
    assert job.state == "done"
    assert _kind_of(job) == "cancelled"
    job.cancel()  # no effect on a finished job
    assert _kind_of(job) == "cancelled"


def test_a_cancelled_job_frees_its_worker(forking):
    jobs = [forking.submit(SleepSpec(seconds=15, number=i), fresh=True) for i in range(4)]  # all four workers
    _until(lambda: all(job.stage == "sleeping" for job in jobs))
    waiting = forking.submit(EchoSpec(text="next"), fresh=True)
    assert (waiting.state, waiting.position) == ("queued", 1)
    jobs[0].cancel()
    assert waiting.result().text == "next"
    for job in jobs:
        job.cancel()


def test_cancelled_while_queued_never_runs(forking):
    jobs = [forking.submit(SleepSpec(seconds=15, number=i), fresh=True) for i in range(4)]
    _until(lambda: all(job.stage == "sleeping" for job in jobs))
    queued = [forking.submit(EchoSpec(text=str(i)), fresh=True) for i in range(3)]
    assert [job.position for job in queued] == [1, 2, 3]
    queued[0].cancel()
    assert _kind_of(queued[0]) == "cancelled"
    assert [job.position for job in queued] == [0, 1, 2]
    for job in jobs:
        job.cancel()
    assert [job.result().text for job in queued[1:]] == ["1", "2"]


def test_wait_gives_up_in_time(engine):
    job = engine.submit(SleepSpec(seconds=15), fresh=True)
    assert job.wait(0.1) is False
    assert job.state != "done"  # so it did not wait for the end
    job.cancel()


def test_the_same_spec_comes_from_the_cache(engine):
    spec = SleepSpec(seconds=0.0, number=41)
    first = engine.submit(spec).result()
    again = engine.submit(SleepSpec(seconds=0.0, number=41))
    assert again.state == "done"
    assert again.result() is first
    assert engine.submit(spec, fresh=True).result() != first  # the result is a clock reading
    assert engine.submit(SleepSpec(seconds=0.0, number=42)).result() != first


def test_a_fault_is_not_cached(engine, gate):
    spec = GatedSpec(gate=str(gate))
    job = engine.submit(spec)
    job.cancel()
    assert _kind_of(job) == "cancelled"
    again = engine.submit(spec)
    gate.touch()
    assert again.result().numbers


def test_jobs_side_by_side_are_bit_identical_to_alone(forking):
    specs = [
        NoisySpec(seed=1),
        NoisySpec(seed=2, dtype="float64"),
        NoisySpec(seed=3, anomaly=True),
        NoisySpec(seed=1, pause_s=0.1),
    ]
    alone = [forking.submit(spec, fresh=True).result() for spec in specs]
    together = [job.result() for job in [forking.submit(spec, fresh=True) for spec in specs]]
    assert together == alone
    assert alone[0].numbers == alone[3].numbers
    assert alone[0].numbers != alone[1].numbers
    assert [result.text for result in alone[:3]] == ["torch.float32 False", "torch.float64 False", "torch.float32 True"]


def test_every_job_starts_from_the_same_state(engine):
    first = engine.submit(StateSpec(), fresh=True).result()
    engine.submit(NoisySpec(seed=9, dtype="float64", anomaly=True), fresh=True).result()
    assert engine.submit(StateSpec(), fresh=True).result() == first


def test_a_job_numbers_its_operations_from_0_as_a_new_interpreter_does(engine):
    nodes = engine.submit(GraphSpec(), fresh=True).result().graph.nodes
    numbers = sorted(node.sequence_nr for node in nodes if node.kind != "leaf")
    assert numbers == list(range(len(numbers)))


def test_threads_work_in_a_forked_worker(engine):
    assert engine.submit(ThreadsSpec(), fresh=True).result().numbers == (2.0, 1000.0**3)


def test_measured_jobs_run_one_by_one_in_order(forking, gate):
    first = forking.submit(MeasuredGatedSpec(gate=str(gate)), fresh=True)
    jobs = [first, *(forking.submit(MeasuredSleepSpec(seconds=0.1, number=i), fresh=True) for i in range(2))]
    _until(lambda: first.stage == "at the gate")
    assert [job.position for job in jobs] == [0, 2, 3]
    gate.touch()
    ended_s = [job.result().numbers[0] for job in jobs]
    assert ended_s[1] - ended_s[0] >= 0.1
    assert ended_s[2] - ended_s[1] >= 0.1


def test_measured_jobs_of_two_engines_share_one_queue(forking, gate):
    own = Dispatcher(forking._backend, workers=2)
    first = forking.submit(MeasuredGatedSpec(gate=str(gate)), fresh=True)
    second = own.submit(MeasuredSleepSpec(seconds=0.0), fresh=True)
    _until(lambda: first.stage == "at the gate")
    assert (second.state, second.position) == ("queued", 2)
    assert own.submit(EchoSpec(text="plain"), fresh=True).result().text == "plain"  # not held up
    gate.touch()
    assert second.result().numbers[0] > first.result().numbers[0]


class _StuckWorker:
    """A worker that never answers, for tests of the queue alone."""

    def __init__(self):
        self.read_fd, self._theirs = os.pipe()
        self.write_fd = os.open(os.devnull, os.O_WRONLY)
        self._closed = threading.Lock()

    def kill(self):
        if self._closed.acquire(blocking=False):
            os.close(self._theirs)

    def ended(self, timeout_s):
        return Exit(0, 0, 9, False, 0.0, 0)

    def close(self):
        self.kill()
        os.close(self.read_fd)
        os.close(self.write_fd)


class _StuckBackend:
    method = "stuck"

    def start(self): ...

    def stop(self): ...

    def open_worker(self, wall_s):
        return _StuckWorker()


@pytest.mark.parametrize("measured", [False, True])
def test_a_full_queue_is_told_with_its_length(measured):
    engine = Dispatcher(_StuckBackend(), workers=1, capacity=2)
    kind = MeasuredSleepSpec if measured else SleepSpec
    running = engine.submit(kind(number=0))
    _until(lambda: running.state == "running")
    waiting = [engine.submit(kind(number=i)) for i in (1, 2)]
    refused = engine.submit(kind(number=3))
    assert refused.state == "done"
    assert _kind_of(refused) == "queue_full"
    with pytest.raises(Fault, match="2 jobs are already waiting"):
        refused.result()
    waiting[0].cancel()
    assert engine.submit(kind(number=4)).state == "queued"
    engine.stop()
    assert [_kind_of(job) for job in (running, waiting[1])] == ["engine_down", "engine_down"]


def test_a_spec_that_cannot_be_encoded_is_invalid():
    job = Dispatcher(_StuckBackend(), workers=1).submit(EchoSpec(text=lambda: None))
    assert _kind_of(job) == "invalid"


def test_a_backend_that_fails_ends_the_job_and_not_the_queue():
    class Failing(_StuckBackend):
        def open_worker(self, wall_s):
            raise OSError("no more processes")

    engine = Dispatcher(Failing(), workers=1)
    for number in range(3):
        job = engine.submit(SleepSpec(number=number))
        assert _kind_of(job) == "engine_down"
        with pytest.raises(Fault, match="no more processes"):
            job.result()
