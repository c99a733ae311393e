"""One machine-wide FIFO for measured jobs: a ticket file per job, locked while its holder lives."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from engine.runner.runtime import runtime_folder

if sys.platform != "win32":
    import fcntl


class Ticket:
    """A place in the queue of all servers of this user; held until `give_back` or until this process ends."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or runtime_folder() / "turns"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with _locked(self._folder):
            self._number = max(self._numbers(), default=0) + 1
            self._path = self._folder / f"{self._number:012d}"
            self._fd: int | None = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if sys.platform != "win32":
                fcntl.flock(self._fd, fcntl.LOCK_EX)

    def ahead(self) -> int:
        """How many living tickets come before this one; tickets of ended processes are removed on the way."""
        with _locked(self._folder):
            return sum(_is_held(self._folder / f"{number:012d}") for number in self._numbers() if number < self._number)

    def give_back(self) -> None:
        with _locked(self._folder):
            if self._fd is not None:
                with contextlib.suppress(OSError):
                    self._path.unlink()
                os.close(self._fd)
                self._fd = None

    def _numbers(self) -> Iterator[int]:
        return (int(path.name) for path in self._folder.iterdir() if path.name.isdigit())


def _is_held(path: Path) -> bool:
    if sys.platform == "win32":  # an open file cannot be removed there
        try:
            path.unlink()
        except OSError:
            return path.exists()
        return False
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform != "win32":
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
