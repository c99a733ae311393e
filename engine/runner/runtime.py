"""The private folder of this user where servers keep working files and measured jobs queue."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def runtime_folder() -> Path:
    """`$XDG_RUNTIME_DIR/torch-atlas`, else a folder of this user in the temporary one; PermissionError if not ours."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.access(base, os.W_OK):
        folder = Path(base) / "torch-atlas"
    else:
        owner = str(os.getuid()) if sys.platform != "win32" else "user"
        folder = Path(tempfile.gettempdir()) / f"torch-atlas-{owner}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if sys.platform != "win32" and (not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid()):
        raise PermissionError(f"{folder} belongs to someone else; remove it or set XDG_RUNTIME_DIR.")
    if sys.platform != "win32" and stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder


@contextlib.contextmanager
def new_server_folder() -> Iterator[Path]:
    """A fresh folder for one server's jobs, removed at the end; those of servers that were killed are removed now."""
    servers = runtime_folder() / "servers"
    servers.mkdir(mode=0o700, exist_ok=True)
    _remove_abandoned(servers)
    folder = Path(tempfile.mkdtemp(prefix="server-", dir=servers))
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    if sys.platform != "win32":
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_abandoned(servers: Path) -> None:
    if sys.platform == "win32":
        return
    for folder in servers.iterdir():
        try:
            lock = os.open(folder / "lock", os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
