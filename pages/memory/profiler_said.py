"""What PyTorch refused while it was profiled."""

from __future__ import annotations

from engine.graph.spec import PyTorchError
from engine.pytorch_said import PyTorchSaid
from pages.shared.pytorch_words import draw_said


def draw_error(error: PyTorchError | None) -> None:
    """The error with where it came up; the profile holds what ran until then."""
    if error is not None:
        draw_said(f"PyTorch raised an error in {error.stage}", PyTorchSaid(type=error.type, message=error.message))
