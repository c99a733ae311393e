"""What PyTorch said of either run, above the map."""

from __future__ import annotations

from engine.graph.spec import PyTorchError
from engine.mixed_precision.spec import AutocastMap
from engine.pytorch_said import PyTorchSaid
from pages.shared.pytorch_words import draw_said, draw_warned


def draw_errors_of_runs(found: AutocastMap) -> None:
    """Errors of the run under autocast and of the plain one, once where they are the same; then warnings."""
    under, plain = found.error, found.error_plain
    if under is not None and plain is not None and under == plain:
        _draw(under, "with and without autocast")
    else:
        for error, run in ((under, "under autocast"), (plain, "in the plain run")):
            if error is not None:
                _draw(error, run)
    draw_warned(found.warnings)


def _draw(error: PyTorchError, run: str) -> None:
    said = PyTorchSaid(error.type, error.message)
    draw_said(f"PyTorch raised **{error.type}** in {error.stage}, {run}; what came before is shown", said)
