"""One computation for everybody who asks for the same spec while it waits or runs."""

from __future__ import annotations

from collections.abc import Callable

from engine.runner import faults
from engine.runner.contract import Spec
from engine.runner.faults import FaultReport
from engine.runner.job import Job, T


class Computation(Job[T]):
    """What the queue computes; the jobs that joined show its progress, end as it does and leave it when cancelled.

    It is given up when the last of them has left.
    """

    def __init__(self, spec: Spec[T]) -> None:
        super().__init__(spec)
        self._jobs: list[Job[T]] = []
        self._given_up = False

    def join(self, job: Job[T]) -> bool:
        """False when it is done or given up."""
        with self._changed:
            if self._given_up or self._state == "done":
                return False
            self._jobs.append(job)
            job.queued_at(lambda: self.position)
            if self._state == "running":
                job.begin(lambda: None)
            job.progress(self._stage, self._fraction)
            if self._arrived:
                job.arrive()
        job.at_end(lambda: self._leave(job))
        return True

    def begin(self, kill: Callable[[], None]) -> bool:
        begun = super().begin(kill)
        if begun:
            for job in self._joined():
                job.begin(lambda: None)
        return begun

    def progress(self, stage: str, fraction: float) -> None:
        super().progress(stage, fraction)
        for job in self._joined():
            job.progress(stage, fraction)

    def arrive(self) -> None:
        super().arrive()
        for job in self._joined():
            job.arrive()

    def finish(self, outcome: T | FaultReport) -> bool:
        finished = super().finish(outcome)
        if finished:
            for job in self._joined():
                job.finish(outcome)
        return finished

    def _joined(self) -> list[Job[T]]:
        with self._changed:
            return list(self._jobs)

    def _leave(self, job: Job[T]) -> None:
        with self._changed:
            self._jobs.remove(job)
            self._given_up = not self._jobs
        if self._given_up:
            self.finish(faults.cancelled())
