"""torch.compile of one side, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from engine.machine.compiler import find_compiler

_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"


def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.compile(function)`, which compiles when first called; RuntimeError without a C++ compiler."""
    compiler = find_compiler()
    if not compiler.available:
        raise RuntimeError(f"torch.compile needs a C++ compiler: {compiler.detail}")
    torch.compiler.reset()
    compiled: Callable[..., Any] = torch.compile(function, dynamic=False)
    return compiled


@contextmanager
def one_compile_thread() -> Iterator[None]:
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
