"""Drive one job through one worker: request out, frames in, and how it ended in words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from engine.runner import faults, wire
from engine.runner.backend import Backend, Worker
from engine.runner.contract import Result, Spec
from engine.runner.faults import Fault, FaultReport
from engine.runner.job import Job
from engine.runner.wire import Exit, Progress, Request

_ENDED_LIMIT_S = 30.0
"""How long after the stream ended the exit status may take to arrive."""

Key = tuple[str, bytes]


def key_of(spec: Spec[Any]) -> Key:
    """What identifies a spec: its class and its encoded fields."""
    return wire.spec_name(type(spec)), msgspec.msgpack.encode(spec)


Keep = Callable[[Spec[Any], Result, int], None]
"""`keep(spec, result, encoded bytes)`: comes before a job is told, so a cache has it."""


def drive(job: Job[Any], backend: Backend, keep: Keep) -> None:
    """Compute `job` in a fresh worker and finish it."""
    for attempt in (1, 2):
        job.progress("Starting a worker", 0.0)
        try:
            worker = backend.open_worker(job.spec.limits.wall_s)
        except Fault as fault:
            job.finish(fault.report)
            return
        try:
            outcome, size_bytes, heard = _converse(job, worker, keep)
        finally:
            worker.close()
        if isinstance(outcome, Result):
            keep(job.spec, outcome, size_bytes)
        elif outcome.kind == "engine_down" and not heard and attempt == 1 and job.state != "done":
            continue  # the engine was ended before this job reached it; the next one starts afresh
        job.finish(outcome)
        return


def _converse(job: Job[Any], worker: Worker, keep: Keep) -> tuple[Result | FaultReport, int, bool]:
    """(outcome, encoded bytes of the result, whether the worker said anything)."""
    if not job.begin(worker.kill):
        return faults.cancelled(), 0, True
    name, fields = key_of(job.spec)
    caps_bytes = {
        wire.PROGRESS: wire.SMALL_FRAME_BYTES,
        wire.FAULT: wire.SMALL_FRAME_BYTES,
        wire.RESULT: job.spec.limits.result_bytes,
    }
    smaller = job.spec.on_the_way
    if smaller is not None:
        caps_bytes[wire.ON_THE_WAY] = job.spec.limits.result_bytes
    heard = False
    try:
        _send(worker, Request(name, fields))
        while (frame := wire.read_frame(worker.read_fd, caps_bytes)) is not None:
            heard = True
            kind, data = frame
            if kind == wire.PROGRESS:
                told = msgspec.msgpack.decode(data, type=Progress)
                job.progress(told.stage, told.fraction)
            elif kind == wire.ON_THE_WAY and smaller is not None:
                keep(smaller, _result_decoder(smaller.result).decode(data), len(data))
                job.arrive()
            elif kind == wire.FAULT:
                return msgspec.msgpack.decode(data, type=FaultReport), 0, True
            else:
                return _result_decoder(job.spec.result).decode(data), len(data), True
    except wire.FrameTooBig as error:
        return faults.too_big(error.announced_bytes, job.spec.limits.result_bytes), 0, True
    except (ValueError, msgspec.DecodeError) as error:
        return faults.bad_result(faults.error_text(error)), 0, True
    return _explain(worker.ended(_ENDED_LIMIT_S), job.spec), 0, heard


def _send(worker: Worker, request: Request) -> None:
    with contextlib.suppress(OSError):  # it may have ended already; reading tells how
        wire.write_frame(worker.write_fd, wire.REQUEST, msgspec.msgpack.encode(request))


@lru_cache(maxsize=256)
def _result_decoder(kind: type[Result]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


def _explain(ended: Exit | None, spec: Spec[Any]) -> FaultReport:
    """The fault for a worker that ended without a final frame."""
    limits = spec.limits
    if ended is None:
        return faults.engine_down("it ended while this job was with it")
    if ended.timed_out:
        return faults.timeout(limits.wall_s)
    if faults.signal_name(ended.signal) == "SIGXCPU" or (ended.signal and ended.cpu_s >= limits.cpu_s):
        return faults.cpu(limits.cpu_s)
    if faults.signal_name(ended.signal) == "SIGKILL" and ended.peak_bytes > limits.memory_bytes // 2:
        return faults.memory(limits.memory_bytes, "ended by the system, most likely because its memory ran out")
    if ended.signal and ended.peak_bytes > limits.memory_bytes * 3 // 4:  # a library, or the stack, got no more
        name = faults.signal_name(ended.signal)
        return faults.memory(limits.memory_bytes, f"ended by {name} close to the limit, most likely out of memory")
    if ended.signal:
        return faults.crash_signal(ended.signal, ended.output)
    return faults.crash_exit(ended.code, ended.output)
