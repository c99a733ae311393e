"""Bytes between app, fork server and worker: length-prefixed frames, atomic control messages, spec names.

Everything is MessagePack through msgspec and decoded against a declared type; nothing is ever pickled.
"""

from __future__ import annotations

import os
import re
import struct
from importlib import import_module
from typing import Any

import msgspec

from engine.runner.contract import Spec

EXTRA_SPECS = "TORCH_ATLAS_EXTRA_SPECS"
"""Names further spec modules (comma separated); read by worker programs when they start, for tests."""

READY, REQUEST, PROGRESS, ON_THE_WAY, RESULT, FAULT = b"W", b"Q", b"P", b"O", b"R", b"F"
REQUEST_CAP_BYTES = 1 << 22
SMALL_FRAME_BYTES = 1 << 16
"""Cap of a progress or fault frame, whose texts are clipped far below it."""

_HEADER = struct.Struct("!cI")
_CHUNK_BYTES = 1 << 20
_SPEC_MODULE = re.compile(r"engine\.[a-z][a-z0-9_]*\.spec")


class Request(msgspec.Struct, frozen=True):
    """The first frame to a worker: which spec class, and its fields encoded."""

    spec: str
    fields: bytes


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """Stage in words and fraction 0..1 of the whole job."""

    stage: str
    fraction: float


class Start(msgspec.Struct, frozen=True, tag=True):
    """App to fork server: fork a worker on the stream passed along, kill it after `wall_s`."""

    job: int
    wall_s: float


class Kill(msgspec.Struct, frozen=True, tag=True):
    """App to fork server: kill the worker's process group now."""

    job: int


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Fork server to app: warm and listening."""

    warm_s: float


class Exit(msgspec.Struct, frozen=True, tag=True):
    """How a worker ended: exit code or signal number, processor seconds, tail of its output.

    `peak_bytes` is resident memory above what it shared with the server at its start.
    """

    job: int
    code: int
    signal: int
    timed_out: bool
    cpu_s: float
    peak_bytes: int
    output: str = ""


ToServer = Start | Kill
FromServer = Ready | Exit


class FrameTooBig(Exception):
    """A frame announced more bytes than its cap."""

    def __init__(self, announced_bytes: int) -> None:
        super().__init__(f"{announced_bytes} bytes announced")
        self.announced_bytes = announced_bytes


def write_frame(fd: int, kind: bytes, data: bytes) -> None:
    _write_all(fd, _HEADER.pack(kind, len(data)) + data if len(data) < _CHUNK_BYTES else _HEADER.pack(kind, len(data)))
    if len(data) >= _CHUNK_BYTES:
        _write_all(fd, data)


def read_frame(fd: int, caps_bytes: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    """The next (kind, data); None at the end of the stream, also in the middle of a frame.

    Raises ValueError for a kind without a cap and FrameTooBig for one above it.
    """
    header = _read_exactly(fd, _HEADER.size)
    if header is None:
        return None
    kind, length = _HEADER.unpack(header)
    if kind not in caps_bytes:
        raise ValueError(f"unknown frame {kind!r}")
    if length > caps_bytes[kind]:
        raise FrameTooBig(length)
    data = _read_exactly(fd, length)
    return None if data is None else (kind, data)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view[:_CHUNK_BYTES]) :]


def _read_exactly(fd: int, length: int) -> bytes | None:
    parts, missing = [], length
    while missing:
        try:
            part = os.read(fd, min(missing, _CHUNK_BYTES))
        except OSError:
            return None
        if not part:
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def spec_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def extra_modules() -> frozenset[str]:
    return frozenset(filter(None, os.environ.get(EXTRA_SPECS, "").split(",")))


def find_spec_class(name: str, extra: frozenset[str] = frozenset()) -> type[Spec[Any]]:
    """The spec class called `name`; ValueError unless it is defined in an engine.<topic>.spec module or `extra`."""
    module_name, _, class_name = name.rpartition(".")
    if not (_SPEC_MODULE.fullmatch(module_name) or module_name in extra):
        raise ValueError(f"{name!r} is not a spec of the engine; specs live in engine.<topic>.spec.")
    found = getattr(import_module(module_name), class_name, None)
    if not (isinstance(found, type) and issubclass(found, Spec) and found.__module__ == module_name):
        raise ValueError(f"{module_name} defines no spec called {class_name!r}.")
    return found
