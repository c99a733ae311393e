"""What each CUDA kernel takes of a multiprocessor, as the CUDA compiler reports it: no GPU is needed, nor torch loaded.

`built_resources()` reads what an earlier `kernel_resources()` found for the present sources.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from engine.operators.library import BUILDS, SOURCES, find_nvcc

ARCHITECTURES = ("sm_80", "sm_90")
FLAGS = (
    *("-O3", "-std=c++20", "--expt-relaxed-constexpr", "-Xcompiler", "-fPIC,-fvisibility=hidden"),
    *("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"),
    *("-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__"),
    "-DTORCH_TARGET_VERSION=0x020b000000000000",
)
"""Those of the build on a machine with a GPU, where torch's extension builder adds the middle four."""

_ENTRY = re.compile(r"Compiling entry function '(.+)' for '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")
_MESSAGE_LENGTH = 2000


class KernelResources(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel for one architecture. Registers are of a thread, shared memory of a block.

    `spilled_bytes` are stores and loads of registers to memory, counted once each per thread in the code.
    """

    source: str
    kernel: str
    architecture: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spilled_bytes: int


class CudaCompileFailed(Exception):
    """What nvcc said of a file."""


def kernel_files() -> tuple[Path, ...]:
    return tuple(sorted((SOURCES / "cuda").glob("*.cu")))


def kernel_resources(tell: Callable[[str], None] = print) -> tuple[KernelResources, ...]:
    """Compile every csrc/cuda/*.cu for each of ARCHITECTURES; about ten seconds of CPU a file, then kept.

    `tell` gets "3 of 9: gemm.cu". Raises FileNotFoundError without nvcc and CudaCompileFailed.
    """
    files = kernel_files()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        waiting = {pool.submit(compile_kernels, path): path for path in files}
        for done, future in enumerate(as_completed(waiting), 1):
            future.result()
            tell(f"{done} of {len(files)}: {waiting[future].name}")
    found = built_resources()
    assert found is not None
    return found


def built_resources() -> tuple[KernelResources, ...] | None:
    """The table for the present sources, None unless all of them have been compiled here."""
    try:
        reports = [(path, _folder(path) / "report.txt") for path in kernel_files()]
        return tuple(row for path, report in reports for row in parse_report(report.read_text("utf-8"), path.name))
    except OSError:
        return None


def compile_kernels(source: Path) -> Path:
    """The object of one .cu, made now or earlier from the same text; the compiler's report lies beside it."""
    folder = _folder(source)
    compiled = folder / f"{source.stem}.o"
    if (folder / "report.txt").exists():
        return compiled
    nvcc = find_nvcc()
    if nvcc is None:
        raise FileNotFoundError("no nvcc: neither $CUDA_HOME/bin nor the path has it")
    folder.mkdir(parents=True, exist_ok=True)
    command = [nvcc, "-c", str(source), "-o", str(compiled), *FLAGS, *_code_for(ARCHITECTURES), "--resource-usage"]
    command += [f"-I{folder}" for folder in (SOURCES, _torch_headers())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CudaCompileFailed(f"{source.name}: {(done.stderr + done.stdout)[:_MESSAGE_LENGTH]}")
    (folder / "report.txt").write_text(_readable(done.stderr + done.stdout), "utf-8")
    return compiled


def parse_report(report: str, source: str) -> Iterator[KernelResources]:
    """The rows of what `nvcc --resource-usage` printed."""
    entry: tuple[str, str] | None = None
    stack = spilled = 0
    for line in report.splitlines():
        if found := _ENTRY.search(line):
            entry = found[1], found[2]
        elif found := _STACK.search(line):
            stack, spilled = int(found[1]), int(found[2]) + int(found[3])
        elif entry and (found := _USED.search(line)):
            yield KernelResources(
                source=source,
                kernel=short_name(entry[0]),
                architecture=entry[1],
                registers=int(found[1]),
                shared_bytes=int(found[2] or 0),
                stack_bytes=stack,
                spilled_bytes=spilled,
            )
            entry = None


def short_name(signature: str) -> str:
    """`void atlas::cuda::gemm_tiled<c10::Half>(...)` -> `gemm_tiled<Half>`."""
    depth = 0
    end = len(signature)
    for i in range(len(signature) - 1, -1, -1):
        depth += (signature[i] == ")") - (signature[i] == "(")
        if signature[i] == "(" and depth == 0:
            end = i
            break
    return re.sub(r"\b(?:atlas|cuda|c10)::|^void |\(\w+\)", "", signature[:end])


def _readable(report: str) -> str:
    """With C++ names where a demangler is here."""
    command = shutil.which("cu++filt") or shutil.which("c++filt")
    if command is None:
        return report
    return subprocess.run([command], input=report, capture_output=True, text=True, check=True).stdout


def _code_for(architectures: tuple[str, ...]) -> list[str]:
    return [f"-gencode=arch=compute_{name.removeprefix('sm_')},code={name}" for name in architectures]


def _torch_headers() -> Path:
    found = find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("PyTorch is not installed: its headers are needed")
    return Path(found.submodule_search_locations[0]) / "include"


def _folder(source: Path) -> Path:
    """Kept by everything the compilation may read."""
    digest = hashlib.sha256("\0".join((version("torch"), *FLAGS, *ARCHITECTURES)).encode())
    headers = (path for path in SOURCES.rglob("*.h") if path.parent != SOURCES / "cpu")
    for path in (source, *sorted(headers)):
        digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return BUILDS / "cuda" / f"{source.stem}-{digest.hexdigest()[:16]}"
