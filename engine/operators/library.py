"""Where the built operators are kept, and under which key: torch-free, so that the app can ask without loading them."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
LIBRARY = "atlas_operators.so"
LOG = "build.log"
USE = "TORCH_ATLAS_OPERATORS"
"""Set to `reference`, the operators run in PyTorch's own operations although they are built."""

_SCHEMA = re.compile(r'm\.def\("(\w+)(\(.*?\) -> .*?)"\);')
_CUDA_VERSION = re.compile(r"^cuda\b.*?= *'([\d.]+)'", re.M)


def _builds_folder(checkout: Path, cache_home: str | None) -> Path:
    """`build/operators` of the checkout where it can be written, else in this user's cache."""
    nearest = checkout / "build" / "operators"
    while not nearest.exists():
        nearest = nearest.parent
    if nearest.is_dir() and os.access(nearest, os.W_OK):
        return checkout / "build" / "operators"
    return (Path(cache_home) if cache_home else Path.home() / ".cache") / "torch-atlas" / "operators"


# Once, at import: a worker's home is its private folder later.
SHIPPED = ROOT / "build" / "operators"
BUILDS = _builds_folder(ROOT, os.environ.get("XDG_CACHE_HOME"))


def only_reference() -> bool:
    """Whether the user switched the compiled operators off."""
    return os.environ.get(USE) == "reference"


def source_files(sources: Path = SOURCES) -> tuple[Path, ...]:
    """Everything under csrc/ that decides what is built, in a stable order."""
    return tuple(sorted(path for path in sources.rglob("*") if path.suffix in {".cpp", ".cu", ".cuh", ".h"}))


def source_key(sources: Path = SOURCES) -> str:
    """A hash of the sources, how they are compiled, this machine's architecture and PyTorch's version."""
    built_for = f"{platform.system()} {platform.machine()} torch {version('torch')} cuda {cuda_version()}"
    digest = hashlib.sha256(built_for.encode() + (Path(__file__).parent / "compile.py").read_bytes())
    kernels_too = bool(cuda_version())
    for path in source_files(sources):
        if path.is_relative_to(sources / "cuda") and not kernels_too:
            continue
        digest.update(path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def cuda_version() -> str:
    """The CUDA that PyTorch was built for, read from its files, where a compiler for it is here too; else ""."""
    found = find_spec("torch")
    if found is None or not found.submodule_search_locations or find_nvcc() is None:
        return ""
    text = (Path(found.submodule_search_locations[0]) / "version.py").read_text(encoding="utf-8")
    said = _CUDA_VERSION.search(text)
    return said.group(1) if said else ""


def find_nvcc() -> str | None:
    """The CUDA compiler that PyTorch's extension builder will use."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    return shutil.which("nvcc", path=str(Path(home) / "bin")) if home else shutil.which("nvcc")


def library_path() -> Path:
    """Where the library built from the present sources is, or will be."""
    shipped = SHIPPED / source_key() / LIBRARY
    return shipped if shipped.exists() else BUILDS / shipped.parent.name / LIBRARY


def is_built() -> bool:
    """Whether a process that asks for the operators now gets compiled ones."""
    return not only_reference() and library_path().exists()


def log_path() -> Path:
    """What the compiler said of the present sources, beside the library or where it would be."""
    return library_path().with_name(LOG)


def schemas(sources: Path = SOURCES) -> dict[str, str]:
    """Name -> schema without the name, as csrc/operators.cpp defines them."""
    return dict(_SCHEMA.findall((sources / "operators.cpp").read_text(encoding="utf-8")))
