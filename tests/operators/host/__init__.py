"""The CUDA operators built for the CPU: the same .cu files, compiled by the C++ compiler over the host launcher.

Reads and writes past a tensor's end are found with the address sanitizer:
`HOST_LAUNCHER_FLAGS=-fsanitize=address LD_PRELOAD=$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0
python -m pytest -s -n0 -m slow tests/operators/test_cuda_sizes.py`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from engine.operators.library import BUILDS, SOURCES, schemas, source_files

HERE = Path(__file__).parent
NAMESPACE = "atlas_on_host"
SHARED_SOURCES = ("arguments.cpp", "memory_ranges.cpp", "tensor_list.cpp", "tensor_lists.cpp", "host_launcher.cpp")
CUDA_FILES = tuple(sorted((SOURCES / "cuda").glob("*.cu")))


def implemented() -> frozenset[str]:
    """The names the .cu files register."""
    return frozenset(re.findall(r'm\.impl\("(\w+)"', "".join(path.read_text() for path in CUDA_FILES)))


def host_compiler() -> str:
    """The C++ compiler for the launcher; without one the test is skipped."""
    compiler = next(filter(shutil.which, filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    return compiler


def compile_library(name: str, text: str, *flags: str) -> Path:
    """A shared library of `text`, the launcher and the checks of arguments, as one translation unit; kept by hash."""
    flags += tuple(os.environ.get("HOST_LAUNCHER_FLAGS", "").split())
    compiler = host_compiler()
    files = (*source_files(), *sorted(HERE.glob("*.*")))
    digest = hashlib.sha256("\0".join((torch.__version__, text, *flags)).encode())
    for path in files:
        digest.update(path.read_bytes())
    library = BUILDS / "host" / digest.hexdigest()[:16] / f"{name}.so"
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    source = library.with_suffix(".cpp")
    source.write_text(text + "".join(f'#include "{shared}"\n' for shared in SHARED_SOURCES))
    torch_files = Path(torch.__file__).parent
    partial = library.with_suffix(".partial")
    command = [compiler, "-shared", "-fPIC", "-fvisibility=hidden", "-std=c++20", "-O1", "-Wall", "-Wno-attributes"]
    command += [*flags, "-DTORCH_TARGET_VERSION=0x020b000000000000", str(source), "-o", str(partial)]
    command += [f"-I{folder}" for folder in (SOURCES, HERE, torch_files / "include")]
    command += [f"-L{torch_files / 'lib'}", "-ltorch_cpu", "-lc10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    partial.rename(library)
    return library


@cache
def load_operators() -> None:
    """Define `torch.ops.atlas_on_host` with the CUDA kernels as its CPU implementation."""
    text = "".join(f'#include "{path.relative_to(SOURCES)}"\n' for path in CUDA_FILES)
    library = compile_library("cuda_operators", text)
    torch.ops.load_library(str(library))
    for name, schema in schemas().items():
        torch.library.define(f"{NAMESPACE}::{name}", schema)


class _Redirected(TorchDispatchMode):
    """Sends every operator that has a CUDA implementation to the host build of it, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        space, _, name = func._schema.name.partition("::")
        if space == "atlas" and name in implemented():
            self.seen.add(name)
            func = getattr(getattr(torch.ops, NAMESPACE), name)
        return func(*args, **(kwargs or {}))


@contextmanager
def cuda_kernels_on_the_host() -> Iterator[set[str]]:
    """After load_operators(): inside, `torch.ops.atlas` runs the CUDA kernels on CPU tensors.

    Gives the set of operators that did.
    """
    with _Redirected() as mode:
        yield mode.seen
