"""Load the built operators into this process, or define the same ones on their reference implementations."""

from __future__ import annotations

from functools import cache

import msgspec
import torch

from engine.operators.library import library_path, schemas

NAMESPACE = "atlas"


class Loaded(msgspec.Struct, frozen=True):
    """Whether `torch.ops.atlas` runs compiled code in this process, and why not."""

    compiled: bool
    reason: str = ""


@cache
def load() -> Loaded:
    """Once per process: the compiled library when it is built, else definitions without kernels of their own."""
    path = library_path()
    if path.exists():
        torch.ops.load_library(str(path))
        return Loaded(compiled=True)
    for name, schema in schemas().items():
        torch.library.define(f"{NAMESPACE}::{name}", schema)
    return Loaded(compiled=False, reason="the operators are not built on this machine")
