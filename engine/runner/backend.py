"""What the queue needs of a way to get fresh worker processes."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from engine.runner.wire import Exit


class BackendState(NamedTuple):
    """Read for `engine_status`."""

    alive: bool
    pid: int | None
    restarts: int
    warm_s: float | None


class Worker(Protocol):
    """A fresh process for one job; frames go over two file descriptors."""

    @property
    def read_fd(self) -> int: ...

    @property
    def write_fd(self) -> int: ...

    def kill(self) -> None:
        """SIGKILL it and what it started."""

    def ended(self, timeout_s: float) -> Exit | None:
        """How it ended; None when that cannot be known because the engine process is gone."""

    def close(self) -> None:
        """Give back the file descriptors; a worker still running is killed."""


class Backend(Protocol):
    """Where workers come from."""

    method: str

    def start(self) -> None:
        """Begin warming up, without waiting; idempotent."""

    def stop(self) -> None:
        """End every process it started; idempotent."""

    def open_worker(self, wall_s: float) -> Worker:
        """A worker killed `wall_s` from now; waits for the warm-up, raises Fault engine_down."""

    def state(self) -> BackendState: ...
