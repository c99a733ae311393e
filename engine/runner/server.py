"""The fork server: `python -m engine.runner.server <control fd>`, started by the app, one forked worker per job.

It preloads torch without starting a thread, forks on request, kills at the wall limit, reports how each worker ended
and exits, killing what runs, when its standard input ends (the app is gone).
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import os
import selectors
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import NoReturn

import msgspec

from engine.runner import wire, worker
from engine.runner.private import make_private, printed_tail
from engine.runner.runtime import new_server_folder
from engine.runner.wire import Exit, Kill, Ready, Start

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MESSAGE_BYTES = 1 << 16
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class _Running(msgspec.Struct):
    job: int
    private: Path
    deadline_s: float
    shared_bytes: int
    timed_out: bool = False


class ForkServer:
    """Forks, watches and reaps workers; single-threaded, so that a fork is safe."""

    def __init__(self, control: socket.socket, folder: Path) -> None:
        self._control, self._folder = control, folder
        self._running: dict[int, _Running] = {}  # by process id
        self._decoder = msgspec.msgpack.Decoder(wire.ToServer)
        self._extra = wire.extra_modules()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        """Until standard input ends; then every worker is killed."""
        signal.set_wakeup_fd(self._wake_write)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for source in (self._control, sys.stdin.fileno(), self._wake_read):
            self._selector.register(source, selectors.EVENT_READ)
        while self._turn():
            pass
        for pid in self._running:
            _kill_group(pid)

    def send(self, message: Ready | Exit) -> None:
        with contextlib.suppress(OSError):
            self._control.send(msgspec.msgpack.encode(message))

    def _turn(self) -> bool:
        for key, _ in self._selector.select(self._until_next_deadline_s()):
            if key.fd == self._wake_read:
                os.read(self._wake_read, 4096)
            elif key.fd == self._control.fileno():
                if not self._receive():
                    return False
            elif not os.read(key.fd, 4096):
                return False
        while self._reap_one():
            pass
        self._enforce_deadlines()
        return True

    def _until_next_deadline_s(self) -> float | None:
        waits = [one.deadline_s for one in self._running.values() if not one.timed_out]
        return max(0.0, min(waits) - time.monotonic()) if waits else None

    def _enforce_deadlines(self) -> None:
        now_s = time.monotonic()
        for pid, one in self._running.items():
            if not one.timed_out and now_s >= one.deadline_s:
                one.timed_out = True
                _kill_group(pid)

    def _receive(self) -> bool:
        data, ancillary, _, _ = self._control.recvmsg(_MESSAGE_BYTES, socket.CMSG_SPACE(4))
        if not data:
            return False
        message = self._decoder.decode(data)
        if isinstance(message, Kill):
            for pid, one in self._running.items():
                if one.job == message.job:
                    _kill_group(pid)
        else:
            self._start(message, array.array("i", ancillary[0][2])[0])
        return True

    def _start(self, start: Start, stream_fd: int) -> None:
        private, server_pid = self._folder / str(start.job), os.getpid()
        worker.load_operators()  # here, so that this child and all later ones have what was built since
        try:
            pid = os.fork()
        except OSError as error:
            os.close(stream_fd)
            self.send(Exit(start.job, 1, 0, False, 0.0, 0, f"no new process: {error.strerror}"))
            return
        if pid == 0:
            self._become_worker(stream_fd, private, server_pid)
        os.close(stream_fd)
        with contextlib.suppress(OSError):  # the worker does the same; whoever comes first
            os.setpgid(pid, pid)
        self._running[pid] = _Running(start.job, private, time.monotonic() + start.wall_s, _resident_bytes(pid))

    def _become_worker(self, stream_fd: int, private: Path, server_pid: int) -> NoReturn:
        code = 1
        try:
            _detach_from_server(server_pid)
            self._control.close()
            self._selector.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
            make_private(private)
            worker.answer_one(stream_fd, stream_fd, private, self._extra)
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)

    def _reap_one(self) -> bool:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        if ended is None:
            return False
        one = self._running.pop(ended.si_pid, None)
        if one is not None:  # before the process id is given back: what it left behind in its group
            _kill_group(ended.si_pid)
        _, status, usage = os.wait4(ended.si_pid, 0)
        if one is not None:
            self._kill_orphans()
            self._report(one, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 - one.shared_bytes)
        return True

    def _report(self, one: _Running, status: int, cpu_s: float, peak_bytes: int) -> None:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        output = printed_tail(one.private) if status else ""
        self.send(Exit(one.job, code, number, one.timed_out, cpu_s, peak_bytes, output))
        shutil.rmtree(one.private, ignore_errors=True)

    def _kill_orphans(self) -> None:
        """Descendants that left their worker's group became children of this process when the worker ended."""
        try:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        except OSError:
            return
        for pid in map(int, children):
            if pid not in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _detach_from_server(server_pid: int) -> None:
    if _libc is not None:  # a killed server takes its workers along
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server_pid:  # killed before that was in force
        os._exit(1)
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _resident_bytes(pid: int) -> int:
    """What a worker shares with this process at its start. This one's ru_maxrss would not do: exec inherits it."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # the group may not exist yet in the first instants of a worker
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def main() -> None:
    began_s = time.monotonic()
    control = socket.socket(fileno=int(sys.argv[1]))
    if _libc is not None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with new_server_folder() as folder:
        worker.preload()
        gc.collect()
        gc.freeze()
        server = ForkServer(control, folder)
        server.send(Ready(time.monotonic() - began_s))
        server.serve()


if __name__ == "__main__":
    main()
