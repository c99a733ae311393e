"""A spare worker: `python -m engine.runner.spawned <private folder>`, started ahead of time, serves one job and ends.

The request comes on standard input and the answer leaves on standard output, as pipes are what every platform has.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from engine.runner import wire, worker
from engine.runner.private import make_private


def main() -> None:
    private = Path(sys.argv[1])
    read_fd, write_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    make_private(private)
    extra = wire.extra_modules()
    worker.preload()
    wire.write_frame(write_fd, wire.READY, b"")
    worker.answer_one(read_fd, write_fd, private, extra, lambda: _end_with_app(read_fd))
    os._exit(0)


def _end_with_app(read_fd: int) -> None:
    """End this process when the other end of `read_fd` closes: the app is gone."""

    def watch() -> None:
        os.read(read_fd, 1)
        os._exit(1)

    threading.Thread(target=watch, name="app watch", daemon=True).start()


if __name__ == "__main__":
    main()
