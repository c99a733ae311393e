"""One job in a fresh worker, seen from close up: when it told which stage, what it sent, how much memory it took."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.runner import wire
from engine.runner.contract import Spec
from engine.runner.drive import key_of
from engine.runner.forked import ForkBackend
from engine.runner.wire import Progress, Request

ENDED_LIMIT_S = 10.0


@dataclass(frozen=True)
class WorkerRun:
    """`stages` are (name, seconds after the request); the last is "sent", when the whole result had arrived."""

    stages: tuple[tuple[str, float], ...]
    result_bytes: int
    peak_bytes: int

    def between(self, first: str, last: str) -> float:
        """Seconds from the start of a stage to the start of another."""
        at = dict(self.stages)
        return at[last] - at[first]


def run_in_worker(backend: ForkBackend, spec: Spec[Any]) -> WorkerRun:
    """Compute `spec` as the app's engine does; RuntimeError when the worker sends a fault."""
    stages: list[tuple[str, float]] = []
    worker = backend.open_worker(spec.limits.wall_s)
    try:
        start = time.perf_counter()
        caps = dict.fromkeys((wire.PROGRESS, wire.FAULT), wire.SMALL_FRAME_BYTES)
        caps |= dict.fromkeys((wire.ON_THE_WAY, wire.RESULT), spec.limits.result_bytes)
        wire.write_frame(worker.write_fd, wire.REQUEST, msgspec.msgpack.encode(Request(*key_of(spec))))
        result = _listen(worker.read_fd, caps, start, stages)
        ended = worker.ended(ENDED_LIMIT_S)
    finally:
        worker.close()
    if ended is None:
        raise RuntimeError("The fork server did not say how the worker ended.")
    return WorkerRun(tuple(stages), len(result), ended.peak_bytes)


def _listen(read_fd: int, caps: dict[bytes, int], start: float, stages: list[tuple[str, float]]) -> bytes:
    while (frame := wire.read_frame(read_fd, caps)) is not None:
        kind, data = frame
        now = time.perf_counter() - start
        if kind == wire.PROGRESS:
            stages.append((msgspec.msgpack.decode(data, type=Progress).stage, now))
        elif kind == wire.RESULT:
            stages.append(("sent", now))
            return data
        elif kind == wire.FAULT:
            break
    raise RuntimeError("The worker sent no result.")
