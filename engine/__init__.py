"""Torch Atlas engine: `run(spec)` computes a spec in a fresh worker and returns a result of plain values."""

from engine.runner import Fault, run

__all__ = ["Fault", "run"]
