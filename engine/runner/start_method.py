"""Choose how workers start: forked where that is safe and cheap, spawned elsewhere."""

from __future__ import annotations

import os
import sys

from engine.runner.backend import Backend

START_METHOD = "TORCH_ATLAS_START_METHOD"
"""Set to `spawn` or `fork` to choose; without it Linux forks, macOS and Windows spawn."""


def choose_backend() -> Backend:
    """A backend not yet started; ValueError for an unknown or impossible start method."""
    chosen = os.environ.get(START_METHOD) or ("fork" if sys.platform == "linux" else "spawn")
    if chosen == "spawn":
        from engine.runner.spares import SpawnBackend

        return SpawnBackend()
    if chosen == "fork" and sys.platform == "linux":
        from engine.runner.forked import ForkBackend

        return ForkBackend()
    raise ValueError(f"{START_METHOD} must be 'spawn', or 'fork' on Linux; received {chosen!r}. Unset it.")
