"""The compiling part of a build, in a process of its own because it changes directory and imports torch.

`python -m engine.operators.compile <folder for objects>` prints "[3/14] <command>" as files are done, links, loads the
result to see that it runs here, and prints its path last. Only what changed is compiled again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from setuptools import Distribution  # type: ignore[import-untyped]
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

from engine.operators.library import SOURCES, cuda_version, source_files

NAME = "atlas_operators"
_OLDEST_ABI = "-DTORCH_TARGET_VERSION=0x020b000000000000"
"""The stable ABI of torch 2.11."""
_FLAGS = ("-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-fvisibility=hidden")
_WARNINGS = ("-Wno-attributes",)


def main(objects: Path) -> int:
    """Exit status 0 and the library's path as the last line, or whatever the compiler's failure raises."""
    os.chdir(SOURCES)  # sources by relative names: no folder of this machine in object names and messages
    library = _build(objects)
    torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    print(f"It loads and runs on {torch.ops.atlas.instruction_set()}.")
    print(library)
    return 0


def _build(objects: Path) -> Path:
    command = _IncrementalBuild(Distribution({"name": NAME, "ext_modules": [_extension()]}))
    command.build_lib, command.build_temp = str(objects / "linked"), str(objects)
    command.ensure_finalized()
    library = Path(command.get_ext_fullpath(NAME))
    library.unlink(missing_ok=True)  # links whenever it is asked to
    command.run()
    return library


def _extension() -> Any:
    kernels = _cuda_sources()
    flags = [*_FLAGS, *_WARNINGS, _OLDEST_ABI]
    neutral = [f"-ffile-prefix-map={SOURCES}=csrc", f"-ffile-prefix-map={Path(torch.__file__).parent}=torch"]
    kind: Any = CUDAExtension if kernels else CppExtension
    return kind(
        NAME,
        [path.relative_to(SOURCES).as_posix() for path in source_files() if path.suffix == ".cpp"] + kernels,
        include_dirs=[str(SOURCES)],
        extra_compile_args={"cxx": [*flags, *neutral], "nvcc": ["-O3", "--expt-relaxed-constexpr", _OLDEST_ABI]},
        py_limited_api=True,
    )


def _cuda_sources() -> list[str]:
    """csrc/cuda/*.cu where this PyTorch has CUDA and its compiler is here, else none."""
    if not cuda_version():
        return []
    return [path.relative_to(SOURCES).as_posix() for path in source_files() if path.suffix == ".cu"]


class _IncrementalBuild(BuildExtension):
    """Compiles with ninja where it is, else one by one; both skip what is up to date and count what is done."""

    def __init__(self, distribution: Any) -> None:
        super().__init__(distribution, no_python_abi_suffix=True)

    def build_extensions(self) -> None:
        if not self.use_ninja:
            total = sum(len(one.sources) for one in self.extensions)
            # What torch's builder wraps as well: the one step that setuptools of every age has.
            self.compiler._compile = one_by_one(self.compiler._compile, total)
        super().build_extensions()


def one_by_one(compile_one: Callable[..., None], total: int) -> Callable[..., None]:
    """`compile_one(object, source, ...)` that leaves out what is newer than its source and every header."""
    done = 0

    def compile_unless_fresh(made: str, source: str, *flags: Any) -> None:
        nonlocal done
        if not is_fresh(Path(made), Path(source)):
            Path(made).unlink(missing_ok=True)
            compile_one(made, source, *flags)
        done += 1
        print(f"[{done}/{total}] {source}", flush=True)

    return compile_unless_fresh


def is_fresh(made: Path, source: Path) -> bool:
    """Without a compiler's list of dependencies every header counts as one."""
    headers = [path for path in source_files() if path.suffix in {".h", ".cuh"}]
    return made.exists() and made.stat().st_mtime > max(path.stat().st_mtime for path in (source, *headers))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
