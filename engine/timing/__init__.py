"""Fair comparison of timings: `compare({"name": callable, ...}) -> Comparison`; loads no torch by itself."""

from engine.timing.clock import Clock
from engine.timing.rounds import compare

__all__ = ["Clock", "compare"]
