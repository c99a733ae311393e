"""What the sections of the gradient values page share: errors of the run, heights, numbers in words."""

from __future__ import annotations

from engine.figures.units import format_significant
from engine.pytorch_said import PyTorchSaid
from pages.shared.pytorch_words import draw_said

ROW_HEIGHT = 35


def draw_run_error(error: PyTorchSaid | None, stage: str = "") -> None:
    """The error PyTorch raised instead of gradients."""
    if error is not None:
        draw_said(f"PyTorch raised **{error.type}**{f' in {stage}' if stage else ''}: no gradients came of it", error)


def table_height(rows: int, most: int) -> int:
    """Pixels for the rows and the header, at most `most`."""
    return min(ROW_HEIGHT * (rows + 1) + 3, most)


def cosine_words(cosine: float | None) -> str:
    """A cosine with the digits that tell it from 1."""
    if cosine is None:
        return "undefined (a norm is 0)"
    gap = 1 - cosine
    return f"1 − {format_significant(gap, 2)}" if 0 < gap < 1e-3 else format_significant(cosine, 4)
