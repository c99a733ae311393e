"""The one verb: `run(spec) -> result`, computed in a fresh worker process; never imports torch itself."""

from __future__ import annotations

import atexit
import threading

from engine.runner.contract import ProgressSink, Result, Spec
from engine.runner.dispatch import Dispatcher, EngineStatus
from engine.runner.faults import Fault, FaultReport
from engine.runner.job import Job, T
from engine.runner.start_method import choose_backend

__all__ = [
    "EngineStatus",
    "Fault",
    "FaultReport",
    "Job",
    "Result",
    "Spec",
    "engine_status",
    "run",
    "start_engine",
    "stop_engine",
    "submit",
]

_lock = threading.Lock()
_dispatcher: Dispatcher | None = None


def run(spec: Spec[T], *, inline: bool = False, fresh: bool = False, on_progress: ProgressSink | None = None) -> T:
    """Compute `spec` and wait for its result; raises Fault.

    A spec computed before comes from the cache unless `fresh`. `inline` computes in this process, without limits,
    sandbox or cache, and leaves the caller's torch state (random numbers, default dtype, threads, modes) as it was.
    """
    if inline:
        from engine.runner.inline import run_inline

        return run_inline(spec, on_progress)
    job = submit(spec, fresh=fresh)
    try:
        if on_progress is not None:
            job.follow(on_progress)
        return job.result()
    except Fault:
        raise
    except BaseException:
        job.cancel()  # interrupted, or on_progress gave up
        raise


def submit(spec: Spec[T], *, fresh: bool = False) -> Job[T]:
    """Begin to compute `spec` without waiting; a job whose result is in the cache is done at once."""
    return _current().submit(spec, fresh=fresh)


def start_engine() -> None:
    """Start the engine's processes and return while they warm up; idempotent. `run` and `submit` do it when needed."""
    _current().start()


def stop_engine() -> None:
    """End every job and process of the engine; idempotent."""
    global _dispatcher
    with _lock:
        stopped, _dispatcher = _dispatcher, None
    if stopped is not None:
        stopped.stop()


def engine_status() -> EngineStatus:
    """What the engine is doing now; does not start it."""
    return (_dispatcher or Dispatcher(choose_backend())).status()


def _current() -> Dispatcher:
    global _dispatcher
    with _lock:
        if _dispatcher is None:
            _dispatcher = Dispatcher(choose_backend())
        return _dispatcher


atexit.register(stop_engine)
