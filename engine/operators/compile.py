"""The compiling part of a build, in a process of its own because it changes directory and imports torch.

`python -m engine.operators.compile <sources> <folder for objects>` prints "[3/14] <command>" as files are done, links,
loads the result to see that it runs here, and prints its path last. Only what changed is compiled again.
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

from engine.operators.library import cuda_version, source_files

NAME = "atlas_operators"
_OLDEST_ABI = "-DTORCH_TARGET_VERSION=0x020b000000000000"
"""The stable ABI of torch 2.11."""
_FLAGS = ("-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-fvisibility=hidden")
_WARNINGS = ("-Wno-attributes",)


def main(sources: Path, objects: Path) -> int:
    """Exit status 0 and the library's path as the last line, or whatever the compiler's failure raises."""
    os.chdir(sources)  # sources by relative names: no folder of this machine in object names and messages
    library = _build(sources, objects)
    torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    print(f"It loads and runs on {torch.ops.atlas.instruction_set()}.")
    print(library)
    return 0


def _build(sources: Path, objects: Path) -> Path:
    command = _IncrementalBuild(Distribution({"name": NAME, "ext_modules": [_extension(sources)]}))
    command.build_lib, command.build_temp = str(objects / "linked"), str(objects)
    command.ensure_finalized()
    library = Path(command.get_ext_fullpath(NAME))
    library.unlink(missing_ok=True)  # links whenever it is asked to
    command.run()
    return library


def _extension(sources: Path) -> Any:
    kernels = _cuda_sources(sources)
    flags = [*_FLAGS, *_WARNINGS, _OLDEST_ABI]
    neutral = [f"-ffile-prefix-map={sources}=csrc", f"-ffile-prefix-map={Path(torch.__file__).parent}=torch"]
    kind: Any = CUDAExtension if kernels else CppExtension
    return kind(
        NAME,
        _named(sources, ".cpp") + kernels,
        include_dirs=[str(sources)],
        extra_compile_args={"cxx": [*flags, *neutral], "nvcc": ["-O3", "--expt-relaxed-constexpr", _OLDEST_ABI]},
        py_limited_api=True,
    )


def _cuda_sources(sources: Path) -> list[str]:
    """csrc/cuda/*.cu where this PyTorch has CUDA and its compiler is here, else none."""
    return _named(sources, ".cu") if cuda_version() else []


def _named(sources: Path, suffix: str) -> list[str]:
    return [path.relative_to(sources).as_posix() for path in source_files(sources) if path.suffix == suffix]


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
    headers = [path for path in source_files(Path()) if path.suffix in {".h", ".cuh"}]
    return made.exists() and made.stat().st_mtime > max(path.stat().st_mtime for path in (source, *headers))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
