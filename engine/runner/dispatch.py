"""The queue of this app: plain jobs side by side, measured ones one by one machine-wide, results cached by spec.

The same spec asked for twice at a time is computed once, unless it is measured.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import msgspec

from engine.runner import faults
from engine.runner.backend import Backend
from engine.runner.cache import ResultCache
from engine.runner.computation import Computation
from engine.runner.contract import Spec
from engine.runner.drive import Key, drive, key_of
from engine.runner.job import Job, T
from engine.runner.lane import Lane
from engine.runner.turn import Ticket

QUEUE_CAPACITY = 64
_TURN_POLL_S = 0.02


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The engine as it is now; `warm_s` is what its warm-up took, None while it warms up or is down."""

    alive: bool
    start_method: str
    pid: int | None
    restarts: int
    warm_s: float | None
    workers: int
    running: int
    waiting: int
    measured_waiting: int


class Dispatcher:
    """Takes specs, hands back jobs, computes them in workers of `backend`."""

    def __init__(self, backend: Backend, *, workers: int | None = None, capacity: int = QUEUE_CAPACITY) -> None:
        self._backend, self._cache = backend, ResultCache()
        self._workers = workers or max(2, os.cpu_count() or 1)
        self._plain = Lane("worker", self._workers, capacity, self._compute)
        self._measured = Lane("measurement", 1, capacity, self._compute_in_turn)
        self._shared: dict[Key, Computation[Any]] = {}
        self._sharing = threading.RLock()  # queueing may end a computation at once, which forgets it

    def start(self) -> None:
        """Begin the warm-up, without waiting for it."""
        self._backend.start()

    def stop(self) -> None:
        """End what runs and waits, then the engine's processes."""
        for lane in (self._plain, self._measured):
            lane.close(faults.engine_down("the app is stopping"))
        self._backend.stop()

    def submit(self, spec: Spec[T], *, fresh: bool = False) -> Job[T]:
        """A job for `spec`; a full queue is the job's fault.

        Unless `fresh` it is done at once from the cache, or joins the computation of the same spec under way.
        """
        job = Job(spec)
        try:
            key = key_of(spec)
        except (TypeError, ValueError, OverflowError) as error:
            job.finish(faults.invalid(faults.error_text(error)))
            return job
        if fresh:
            self._queue(job)
        else:
            self._recall_or_share(job, key)
        return job

    def status(self) -> EngineStatus:
        state = self._backend.state()
        return EngineStatus(
            alive=state.alive,
            start_method=self._backend.method,
            pid=state.pid,
            restarts=state.restarts,
            warm_s=state.warm_s,
            workers=self._workers,
            running=self._plain.running + self._measured.running,
            waiting=self._plain.waiting,
            measured_waiting=self._measured.waiting,
        )

    def _recall_or_share(self, job: Job[Any], key: Key) -> None:
        with self._sharing:
            under_way = self._shared.get(key)
            if under_way is not None and under_way.join(job):
                return
            known: Any = self._cache.get(key)  # after joining failed: what was under way is in the cache by now
            if known is not None:
                job.finish(known)
            else:
                self._queue(job if job.spec.measured else self._shared_by(job, key))

    def _shared_by(self, job: Job[Any], key: Key) -> Job[Any]:
        computation = self._shared[key] = Computation(job.spec)
        computation.join(job)
        computation.at_end(lambda: self._forget(key, computation))
        return computation

    def _forget(self, key: Key, computation: Computation[Any]) -> None:
        with self._sharing:
            if self._shared.get(key) is computation:
                del self._shared[key]

    def _queue(self, job: Job[Any]) -> None:
        if job.spec.measured:
            self._queue_measured(job)
        elif not self._plain.put(job):
            job.finish(faults.queue_full(self._plain.capacity))

    def _compute(self, job: Job[Any]) -> None:
        drive(job, self._backend, lambda spec, result, size_bytes: self._cache.put(key_of(spec), result, size_bytes))

    def _queue_measured(self, job: Job[Any]) -> None:
        """The ticket is taken now, so that the order over all apps is the order of asking."""
        try:
            ticket = Ticket()
        except OSError as error:
            job.finish(faults.engine_down(f"measured jobs cannot queue, {error}"))
            return
        job.at_end(ticket.give_back)
        if not self._measured.put(job, lambda: ticket.ahead() + 1):
            job.finish(faults.queue_full(self._measured.capacity))

    def _compute_in_turn(self, job: Job[Any]) -> None:
        while job.state == "queued" and job.position > 1:
            time.sleep(_TURN_POLL_S)
        self._compute(job)
