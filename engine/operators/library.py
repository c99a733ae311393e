"""Where the built operators are kept, and under which key: torch-free, so that the app can ask without loading them."""

from __future__ import annotations

import hashlib
import platform
import re
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
BUILDS = ROOT / "build" / "operators"
LIBRARY = "atlas_operators.so"

_SCHEMA = re.compile(r'm\.def\("(\w+)(\(.*?\) -> .*?)"\);')


def source_files(sources: Path = SOURCES) -> tuple[Path, ...]:
    """Everything that decides what is built, in a stable order."""
    return tuple(sorted(path for path in sources.rglob("*") if path.suffix in {".cpp", ".cu", ".h"}))


def source_key(sources: Path = SOURCES) -> str:
    """A hash of the sources, this machine's architecture and PyTorch's version: what a build is valid for."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} torch {version('torch')}".encode())
    for path in source_files(sources):
        digest.update(path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def library_path() -> Path:
    """Where the library built from the present sources is, or will be."""
    return BUILDS / source_key() / LIBRARY


def schemas(sources: Path = SOURCES) -> dict[str, str]:
    """Name -> schema without the name, as csrc/operators.cpp defines them."""
    return dict(_SCHEMA.findall((sources / "operators.cpp").read_text(encoding="utf-8")))
