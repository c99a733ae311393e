"""A worker's private folder: the only place it may write, and where its output goes."""

from __future__ import annotations

import faulthandler
import os
import tempfile
from pathlib import Path
from typing import IO

_OUTPUT = "output"
_TAIL_BYTES = 2000
_FOLDER_VARIABLES = ("TMPDIR", "HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR")
"""Where Python, programs and PyTorch's compilers write when not told otherwise; PyTorch fixes its own at import."""


def make_private(private: Path) -> None:
    """Create the folder, make it the temporary and home folder, and send what this process prints to a file in it."""
    os.umask(0o077)
    private.mkdir(mode=0o700, parents=True)
    os.environ |= {variable: str(private) for variable in _FOLDER_VARIABLES}
    tempfile.tempdir = None  # forget the choice made before, in the server
    output = os.open(private / _OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for fd in (1, 2):
        os.dup2(output, fd)
    os.close(output)
    faulthandler.enable(file=2)


def printed_tail(private: Path) -> str:
    """The last 2,000 bytes a worker printed: after a crash its Python traceback or the C++ message."""
    try:
        with (private / _OUTPUT).open("rb") as file:
            return tail_of(file)
    except OSError:
        return ""


def tail_of(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
    return file.read(_TAIL_BYTES).decode("utf-8", "replace").strip()
