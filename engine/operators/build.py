"""Compile csrc/ with torch.utils.cpp_extension: `python -m engine.operators.build`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from engine.operators.library import BUILDS, SOURCES, library_path

_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-fvisibility=hidden", "-Wno-attributes")
_TARGET = "-DTORCH_TARGET_VERSION=0x020b000000000000"
"""The oldest stable ABI the operators ask for: torch 2.11."""


def build() -> Path:
    """Compile what changed, link, and put the library under its key; the compiler's output goes to stdout."""
    target = library_path()
    if target.exists():
        return target
    from setuptools import Distribution  # type: ignore[import-untyped]
    from torch.utils.cpp_extension import BuildExtension, CppExtension

    os.environ.setdefault("MAX_JOBS", str(os.cpu_count() or 1))
    extension = CppExtension(  # type: ignore[no-untyped-call]
        "atlas_operators",
        [str(path) for path in sorted(SOURCES.rglob("*.cpp"))],
        include_dirs=[str(SOURCES)],
        extra_compile_args={"cxx": [*_FLAGS, _TARGET]},
        py_limited_api=True,
    )
    distribution = Distribution({"name": "atlas_operators", "ext_modules": [extension]})
    command = BuildExtension.with_options(no_python_abi_suffix=True)(distribution)  # type: ignore[no-untyped-call]
    command.build_lib = str(BUILDS / "lib")
    command.build_temp = str(BUILDS / "objects")
    command.ensure_finalized()
    command.run()
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(command.get_ext_fullpath("atlas_operators"), target)
    return target


if __name__ == "__main__":
    print(build())
    sys.exit(0)
