"""A kernel of one's own: a complete text for local use, which is shown and never compiled by the app."""

from __future__ import annotations

from importlib import resources

KERNEL_FILE, LOADER_FILE = "scaled_relu.cpp", "run_scaled_relu.py"


def kernel_text() -> str:
    """The C++ file."""
    return resources.files(__name__).joinpath(KERNEL_FILE).read_text(encoding="utf-8")


def loader_text() -> str:
    """The Python file that builds and checks it."""
    return resources.files(__name__).joinpath("run_scaled_relu.txt").read_text(encoding="utf-8")
