"""Job: one submitted spec, seen from the app."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, Literal

from typing_extensions import TypeVar

from engine.runner import faults
from engine.runner.contract import ProgressSink, Result, Spec
from engine.runner.faults import Fault, FaultReport

State = Literal["queued", "running", "done"]
T = TypeVar("T", bound=Result, default=Result)


class Job(Generic[T]):
    """One submitted spec; every attribute and method may be used from any thread."""

    def __init__(self, spec: Spec[T]) -> None:
        self.spec = spec
        self._changed = threading.Condition()
        self._state: State = "queued"
        self._stage, self._fraction = "Waiting", 0.0
        self._arrived = False
        self._submitted_s = time.monotonic()
        self._ended_s: float | None = None
        self._result: T | None = None
        self._fault: FaultReport | None = None
        self._place: Callable[[], int] = lambda: 0
        self._at_end: list[Callable[[], None]] = []

    @property
    def state(self) -> State:
        return self._state

    @property
    def stage(self) -> str:
        """What it is doing, in words."""
        return self._stage

    @property
    def fraction(self) -> float:
        """0..1 of the whole job, as the experiment reports it."""
        return self._fraction

    @property
    def has_arrived(self) -> bool:
        """Whether the result of the spec's `on_the_way` can be had by `run`."""
        return self._arrived

    @property
    def position(self) -> int:
        """Place in the queue; 0 once running or done. Measured jobs count those of all servers of this user."""
        return self._place() if self._state == "queued" else 0

    @property
    def elapsed_s(self) -> float:
        """Seconds from submission until now, or until it was done."""
        return (self._ended_s or time.monotonic()) - self._submitted_s

    def cancel(self) -> None:
        """Stop it: at once `done` with the fault `cancelled`. No effect on a finished job.

        Its worker is killed, unless it computes the same spec for others too.
        """
        self.finish(faults.cancelled())

    def wait(self, timeout_s: float | None = None) -> bool:
        """True when done; False when `timeout_s` passed first."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state == "done", timeout_s)

    def wait_for_first(self, timeout_s: float | None = None) -> bool:
        """Like `wait`, but also True once the result of the spec's `on_the_way` can be had by `run`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state == "done" or self._arrived, timeout_s)

    def result(self) -> T:
        """The result, waiting for it; raises Fault."""
        self.wait()
        if self._fault is not None:
            raise Fault(self._fault)
        assert self._result is not None
        return self._result

    def follow(self, on_progress: ProgressSink) -> None:
        """Call `on_progress(stage, fraction)` in this thread at every change until done."""
        seen: tuple[str, float] | None = None
        while (seen := self._next_after(seen)) is not None:
            on_progress(*seen)

    def _next_after(self, seen: tuple[str, float] | None) -> tuple[str, float] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._state == "done" or (self._stage, self._fraction) != seen)
            return None if self._state == "done" else (self._stage, self._fraction)

    def queued_at(self, place: Callable[[], int]) -> None:
        """For the queue: where to read the position."""
        self._place = place

    def at_end(self, call: Callable[[], None]) -> None:
        """For the queue: call this once when done, at once when it is."""
        with self._changed:
            if self._state != "done":
                self._at_end.append(call)
                return
        call()

    def begin(self, kill: Callable[[], None]) -> bool:
        """For the queue: a worker has it, `kill` ends that. False when the job is done already (cancelled)."""
        with self._changed:
            if self._state == "done":
                return False
            self._state = "running"
            self._at_end.append(kill)
            self._changed.notify_all()
            return True

    def progress(self, stage: str, fraction: float) -> None:
        with self._changed:
            if self._state != "done":
                self._stage, self._fraction = stage, fraction
                self._changed.notify_all()

    def arrive(self) -> None:
        """For the queue: the result of the spec's `on_the_way` is in the cache."""
        with self._changed:
            self._arrived = True
            self._changed.notify_all()

    def finish(self, outcome: T | FaultReport) -> bool:
        """Done with a result or a fault; the first outcome stays. A worker still at it is killed."""
        with self._changed:
            if self._state == "done":
                return False
            if isinstance(outcome, FaultReport):
                self._fault = outcome
            else:
                self._result, self._fraction = outcome, 1.0
            self._state, self._stage, self._ended_s = "done", "Done", time.monotonic()
            calls, self._at_end, self._place = self._at_end, [], lambda: 0
            self._changed.notify_all()
        for call in calls:
            call()
        return True
