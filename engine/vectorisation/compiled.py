"""The rungs beyond plain PyTorch: torch.compile, its cold start told apart, and the compiled operator."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from engine.machine.compiler import find_compiler
from engine.machine.operators import find_operators
from engine.runner.faults import error_text
from engine.vectorisation.spec import Rung
from engine.vectorisation.ways import Inputs, Way

NOT_ASKED = "not asked for: compiling starts a C++ compiler and takes many seconds the first time"
_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"
_TOLD_LINES = 3


def compiled_operator() -> Rung:
    """Not built yet, with the reason as the machine's state gives it."""
    return Rung(name="compiled operator", outcome="not built", reason=find_operators().detail)


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
