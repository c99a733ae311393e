"""What Python's garbage collector must not do in the middle of a measurement."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """No cyclic garbage collection inside."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def collected_before() -> Iterator[None]:
    """Garbage is collected before and none inside: an earlier call's bytes freed there would lower this one's peak."""
    gc.collect()
    with collection_paused():
        yield
