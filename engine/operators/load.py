"""Load the built operators into this process, or define the same ones on their reference implementations."""

from __future__ import annotations

from functools import cache

import msgspec
import torch

from engine.operators.library import USE, is_built, library_path, only_reference, schemas

NAMESPACE = "atlas"


class Loaded(msgspec.Struct, frozen=True):
    """Whether `torch.ops.atlas` runs compiled code in this process, from the sources of `key`, and why not."""

    compiled: bool
    reason: str = ""
    key: str = ""


@cache
def load() -> Loaded:
    """Once per process: the compiled library when it is built, else definitions without kernels of their own."""
    reason = f"switched off by {USE}=reference" if only_reference() else "the operators are not built on this machine"
    if is_built():
        path = library_path()
        try:
            torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
            return Loaded(compiled=True, key=path.parent.name)
        except OSError as error:
            reason = f"the built operators cannot be loaded: {error}"
    for name, schema in schemas().items():
        torch.library.define(f"{NAMESPACE}::{name}", schema)
    return Loaded(compiled=False, reason=reason)


def is_loaded() -> bool:
    """Whether this process has decided, by `load()`, what its operators run on."""
    return load.cache_info().currsize > 0


def load_all() -> None:
    """Also every operator's definitions, which are otherwise imported when they are first asked for."""
    import engine.operators as operators

    for name in operators.operator_names():
        getattr(operators, name)
