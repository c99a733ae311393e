"""A C++ extension whose body is one call of at::matmul, built here, against torch.matmul itself."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path

import torch
from torch.utils import cpp_extension

from engine.claims.counting import Pairs, Work
from engine.operators import gemm
from engine.operators.load import load

SOURCE = """
#include <ATen/ops/matmul.h>
#include <torch/library.h>

at::Tensor gemm(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.device().is_cpu() && b.device().is_cpu(), "gemm wants CPU tensors");
  return at::matmul(a, b);
}

TORCH_LIBRARY(article, library) {
  library.def("gemm(Tensor a, Tensor b) -> Tensor");
  library.impl("gemm", &gemm);
}
"""
COMPILERS = ("c++", "g++", "clang++")
BUILT: dict[str, float] = {}
"""What the build took."""


def unavailable() -> str:
    """Why nothing can be built here."""
    if any(map(shutil.which, COMPILERS)):
        return ""
    return f"building a C++ extension needs a compiler, and none of {', '.join(COMPILERS)} is on the path"


def pairs(rows: int, inner: int, columns: int) -> Pairs:
    """All on the same matrices; the project's own kernel where it is compiled."""
    a, b = torch.randn(rows, inner), torch.randn(inner, columns)
    build()
    ways: dict[str, Work] = {
        "torch.matmul": lambda: torch.matmul(a, b),
        "C++ extension": lambda: torch.ops.article.gemm(a, b),
    }
    if load().compiled:
        ways["packed gemm"] = lambda: gemm(a, b, "packed")
    return {"matrix product": ways}


def notes() -> tuple[str, ...]:
    """What building took, which is in no ratio."""
    told = (f"Compiling the article's operator took {BUILT['seconds']:.0f} s.",)
    return told if load().compiled else (*told, f"The packed gemm was left out: {load().reason}.")


def build() -> None:
    """Compile and load SOURCE; the library stays loaded for the life of the process."""
    if hasattr(torch.ops.article, "gemm"):
        return
    compiler = next(filter(None, map(shutil.which, COMPILERS)))
    folder = Path(tempfile.mkdtemp())
    source, library = folder / "gemm.cpp", folder / "gemm.so"
    source.write_text(SOURCE)
    headers = [f"-I{path}" for path in (*cpp_extension.include_paths(), sysconfig.get_path("include"))]
    libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
    flags = ["-O2", "-std=c++20", "-shared", "-fPIC", *headers]
    start = time.perf_counter()
    subprocess.run(
        [compiler, *flags, str(source), "-o", str(library), *libraries, "-ltorch_cpu", "-lc10"],
        check=True,
        capture_output=True,
    )
    BUILT["seconds"] = time.perf_counter() - start
    torch.ops.load_library(library)  # type: ignore[no-untyped-call]
