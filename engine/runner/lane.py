"""A lane: jobs first in, first out, a bounded number at a time and a bounded number waiting."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from engine.runner import faults
from engine.runner.faults import FaultReport
from engine.runner.job import Job

AnyJob = Job[Any]


class Lane:
    """Up to `threads` jobs at a time, at most `capacity` waiting; threads start with the first jobs."""

    def __init__(self, name: str, threads: int, capacity: int, work: Callable[[AnyJob], None]) -> None:
        self.capacity = capacity
        self._name, self._threads, self._work = name, threads, work
        self._changed = threading.Condition()
        self._waiting: deque[AnyJob] = deque()
        self._running: list[AnyJob] = []
        self._started, self._closed = 0, False

    def put(self, job: AnyJob, place: Callable[[], int] | None = None) -> bool:
        """False when the lane is full or closed; a job that is cancelled while waiting leaves it.

        `place` is what the job shows as its position where that is not its place in this lane.
        """
        with self._changed:
            if self._closed or len(self._waiting) >= self.capacity:
                return False
            job.queued_at(place or (lambda: self._place_of(job)))
            self._waiting.append(job)
            if self._started < self._threads and len(self._running) + len(self._waiting) > self._started:
                self._started += 1
                threading.Thread(target=self._serve, name=f"{self._name} {self._started}", daemon=True).start()
            self._changed.notify()
        job.at_end(lambda: self._discard(job))
        return True

    def close(self, why: FaultReport) -> None:
        """Finish every job with `why` and let the threads end."""
        with self._changed:
            self._closed = True
            jobs = [*self._waiting, *self._running]
            self._changed.notify_all()
        for job in jobs:
            job.finish(why)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _place_of(self, job: AnyJob) -> int:
        with self._changed:
            return self._waiting.index(job) + 1 if job in self._waiting else 0

    def _discard(self, job: AnyJob) -> None:
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._work(job)
            except Exception as error:  # whatever it is, the job must end and this thread must not
                job.finish(faults.engine_down(f"{type(error).__name__}: {faults.error_text(error)}"))
            finally:
                with self._changed:
                    self._running.remove(job)

    def _next(self) -> AnyJob | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                return None
            job = self._waiting.popleft()
            self._running.append(job)
            return job
