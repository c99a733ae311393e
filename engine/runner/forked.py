"""The app's side of the fork server: starts it, asks it for workers, starts it again when it has died."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import msgspec

from engine.runner import faults
from engine.runner.backend import BackendState
from engine.runner.faults import Fault
from engine.runner.private import tail_of
from engine.runner.wire import Exit, FromServer, Kill, Ready, Start

_ROOT = Path(__file__).parents[2]
_WARM_LIMIT_S = 120.0
_STOP_LIMIT_S = 5.0
_MESSAGE_BYTES = 1 << 16
_SERVER_HANG_S = 10.0
"""How long after a worker's wall limit the server may take to say so before it counts as hung."""


class ForkedWorker:
    """A worker forked by the server; `ended` is told by the server, its parent."""

    def __init__(self, server: _Server, job: int, stream: socket.socket, wall_s: float) -> None:
        self._server, self.job, self._stream = server, job, stream
        self._ended = threading.Event()
        self._exit: Exit | None = None
        self._hung = threading.Timer(wall_s + _SERVER_HANG_S, server.abandon)
        self._hung.daemon = True
        self._hung.start()

    @property
    def read_fd(self) -> int:
        return self._stream.fileno()

    @property
    def write_fd(self) -> int:
        return self._stream.fileno()

    def kill(self) -> None:
        self._server.send(Kill(self.job))

    def ended(self, timeout_s: float) -> Exit | None:
        self._ended.wait(timeout_s)
        return self._exit

    def close(self) -> None:
        if not self._ended.is_set():
            self.kill()
        self._stream.close()

    def has_ended(self, how: Exit | None) -> None:
        """Called once by the server's reader; unblocks whoever reads, after what was already sent."""
        self._exit = how
        self._hung.cancel()
        self._ended.set()
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RD)


class ForkBackend:
    """Workers from one fork server at a time."""

    method = "fork server"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._starts = 0
        self._stopped = False

    def start(self) -> None:
        self._living()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            server, self._server = self._server, None
        if server is not None:
            server.stop()

    def open_worker(self, wall_s: float) -> ForkedWorker:
        for _ in range(2):  # the second time with a new server, when the first died unnoticed
            server = self._living()
            server.wait_until_warm()
            with contextlib.suppress(OSError):
                return server.open_worker(wall_s)
            server.end()
        raise Fault(faults.engine_down("it ended twice in a row"))

    def state(self) -> BackendState:
        with self._lock:
            server, restarts = self._server, max(0, self._starts - 1)
        if server is None:
            return BackendState(False, None, restarts, None)
        return BackendState(server.alive, server.pid, restarts, server.warm_s)

    def _living(self) -> _Server:
        with self._lock:
            if self._stopped:
                raise Fault(faults.engine_down("it was stopped"))
            if self._server is None or not self._server.alive:
                self._server, self._starts = _Server(), self._starts + 1
            return self._server


class _Server:
    """One life of the fork server process."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the server has ended
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "engine.runner.server", str(theirs.fileno())],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C in the terminal is for the app
                env=os.environ | {"PYTHONHASHSEED": "0"},
            )
        self.pid = self._process.pid
        self.warm_s: float | None = None
        self._tail = ""
        self._alive, self._warm = True, threading.Event()
        self._workers: dict[int, ForkedWorker] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._listener = threading.Thread(target=self._listen, name="fork server", daemon=True)
        self._listener.start()

    @property
    def alive(self) -> bool:
        return self._alive

    def wait_until_warm(self) -> None:
        if not self._warm.wait(_WARM_LIMIT_S):
            self.stop()
            raise Fault(faults.engine_down(f"it was not ready after {_WARM_LIMIT_S:g} s", self._tail))
        if self.warm_s is None:
            raise Fault(faults.engine_down(f"it ended while starting, exit code {self._process.poll()}", self._tail))

    def open_worker(self, wall_s: float) -> ForkedWorker:
        """OSError when the server is gone."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        worker = ForkedWorker(self, next(self._numbers), ours, wall_s)
        with theirs, self._lock:
            try:
                message = msgspec.msgpack.encode(Start(worker.job, wall_s))
                socket.send_fds(self._control, [message], [theirs.fileno()])
            except OSError:
                worker.has_ended(None)
                ours.close()
                raise
            self._workers[worker.job] = worker
        return worker

    def send(self, message: Kill) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._control.send(msgspec.msgpack.encode(message))

    def stop(self) -> None:
        """Ends it by ending its standard input; kills it when it does not follow."""
        self._end_input()
        if self.warm_s is not None:  # while warming up it would not notice for seconds
            self._listener.join(_STOP_LIMIT_S)
        self.end()

    def abandon(self) -> None:
        """Kill a server that no longer answers."""
        self._process.kill()

    def end(self) -> None:
        """Kill it and wait until that is known: until then it counts as alive."""
        self._process.kill()
        self._listener.join()

    def _listen(self) -> None:
        decoder = msgspec.msgpack.Decoder(FromServer)
        with contextlib.suppress(OSError):
            while data := self._control.recv(_MESSAGE_BYTES):
                message = decoder.decode(data)
                if isinstance(message, Ready):
                    self.warm_s = message.warm_s
                    self._warm.set()
                elif worker := self._forget(message.job):
                    worker.has_ended(message)
        self._has_died()

    def _forget(self, job: int) -> ForkedWorker | None:
        with self._lock:
            return self._workers.pop(job, None)

    def _has_died(self) -> None:
        with self._lock:
            self._alive = False
            self._control.close()
            workers, self._workers = self._workers, {}
        self._process.kill()
        self._process.wait()
        self._end_input()
        with self._output:
            self._tail = tail_of(self._output)
        for worker in workers.values():
            worker.has_ended(None)
        self._warm.set()

    def _end_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
