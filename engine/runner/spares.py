"""Spare spawned workers, for platforms where forking is not safe: started ahead of time, one job each."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

from engine.runner import faults, wire
from engine.runner.backend import BackendState
from engine.runner.faults import Fault
from engine.runner.private import printed_tail
from engine.runner.runtime import new_server_folder
from engine.runner.wire import Exit

SPARES = 2
_ROOT = Path(__file__).parents[2]
_WARM_LIMIT_S = 120.0


class SpawnedWorker:
    """One process of its own; the app kills it at the wall limit."""

    def __init__(self, private: Path) -> None:
        self._private, self._began_s = private, time.monotonic()
        self._timer: threading.Timer | None = None
        self._timed_out = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engine.runner.spawned", str(private)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"PYTHONHASHSEED": "0"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    @property
    def read_fd(self) -> int:
        return self._stdout.fileno()

    @property
    def write_fd(self) -> int:
        return self._stdin.fileno()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def begin(self, wall_s: float) -> float:
        """Wait until warm and start the clock; seconds the warm-up took, Fault engine_down when it did not come up."""
        self._limit(_WARM_LIMIT_S)
        warm = wire.read_frame(self.read_fd, {wire.READY: 0})
        if warm is None:
            ended = self.ended(1.0)
            raise Fault(faults.engine_down("a worker ended while starting", ended.output if ended else ""))
        self._limit(wall_s)
        return time.monotonic() - self._began_s

    def kill(self) -> None:
        if sys.platform == "win32":
            self._process.kill()
        elif self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def ended(self, timeout_s: float) -> Exit | None:
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        output = printed_tail(self._private) if code else ""
        return Exit(0, max(code, 0), max(-code, 0), self._timed_out, 0.0, 0, output)

    def close(self) -> None:
        self._limit(None)
        self.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()
        shutil.rmtree(self._private, ignore_errors=True)

    def _limit(self, wall_s: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wall_s is not None:
            self._timer = threading.Timer(wall_s, self._time_out)
            self._timer.daemon = True
            self._timer.start()

    def _time_out(self) -> None:
        self._timed_out = True
        self.kill()


class SpawnBackend:
    """Keeps `SPARES` warmed workers ready."""

    method = "spawned workers"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spares: deque[SpawnedWorker] = deque()
        self._folder: contextlib.ExitStack | None = None
        self._path = Path()
        self._count, self._restarts = 0, 0
        self._warm_s: float | None = None
        self._stopped = False

    def start(self) -> None:
        with self._lock:
            self._fill()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            spares, self._spares = self._spares, deque()
            folder, self._folder = self._folder, None
        for spare in spares:
            spare.close()
        if folder is not None:
            folder.close()

    def open_worker(self, wall_s: float) -> SpawnedWorker:
        with self._lock:
            self._fill()
            worker = self._spares.popleft()
            self._fill()
        try:
            self._warm_s = worker.begin(wall_s)
        except Fault:
            worker.close()
            raise
        return worker

    def state(self) -> BackendState:
        with self._lock:
            living = [spare.pid for spare in self._spares if spare.alive]
            return BackendState(bool(living), living[0] if living else None, self._restarts, self._warm_s)

    def _fill(self) -> None:
        """Replace spares that were used or have died."""
        if self._stopped:
            raise Fault(faults.engine_down("it was stopped"))
        if self._folder is None:
            self._folder = contextlib.ExitStack()
            self._path = self._folder.enter_context(new_server_folder())
        for spare in [spare for spare in self._spares if not spare.alive]:
            self._spares.remove(spare)
            spare.close()
            self._restarts += 1
        while len(self._spares) < SPARES:
            self._count += 1
            self._spares.append(SpawnedWorker(self._path / str(self._count)))
