"""The rungs beyond plain PyTorch: torch.compile, its cold start told apart, and the compiled operator."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import torch

from engine import operators
from engine.machine.compiler import find_compiler
from engine.machine.operators import find_operators
from engine.runner.faults import error_text
from engine.vectorisation.spec import Problem, Rung
from engine.vectorisation.ways import Inputs, Way

NOT_ASKED = "not asked for: compiling starts a C++ compiler and takes many seconds the first time"
_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"
_TOLD_LINES = 3


OPERATORS: dict[str, str] = {"weighted_row_sum": "weighted_row_sum", "matmul": "gemm"}
"""Problem -> the operator of csrc/ that computes it."""


def compiled_operator(problem: Problem) -> tuple[Way | None, Rung]:
    """(function, rung) where the operator is built, else (None, the rung with the machine's reason)."""
    name = OPERATORS.get(problem)
    rung = Rung(name="compiled operator", outcome="skipped", reason="the project has no operator of its own for this")
    if name is None:
        return None, rung
    state = find_operators()
    if not state.available:
        return None, msgspec.structs.replace(rung, outcome="not built", reason=state.detail)
    note = f"torch.ops.atlas.{name}, {state.detail}."
    return getattr(operators, name), msgspec.structs.replace(rung, outcome="measured", reason="", notes=(note,))


def compile_way(way: Way, inputs: Inputs) -> tuple[Way | None, float | None, str]:
    """(compiled function, wall seconds of its first call, "") or (None, None, why it could not be compiled)."""
    compiler = find_compiler()
    if not compiler.available:
        return None, None, f"torch.compile needs a C++ compiler: {compiler.detail}"
    torch.compiler.reset()
    compiled = torch.compile(way, dynamic=False)
    try:
        with _one_compile_thread(), torch.no_grad():
            start = time.perf_counter()
            compiled(*inputs.values())
            return compiled, time.perf_counter() - start, ""
    except Exception as error:  # whatever the compiler says is the lesson
        told = "\n".join(error_text(error).strip().splitlines()[:_TOLD_LINES])
        return None, None, f"{type(error).__name__}: {told}"


@contextmanager
def _one_compile_thread() -> Iterator[None]:
    """Inductor compiles in this process, not in a pool of its own that would outlive the call."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
