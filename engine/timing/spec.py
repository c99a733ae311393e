"""What can be asked of the clock, and what comes back."""

from __future__ import annotations

from engine.timing.comparison import RESOLUTION, Comparison, Crossover, Ratio, Series, Usage

__all__ = ["RESOLUTION", "Comparison", "Crossover", "Ratio", "Series", "Usage"]
