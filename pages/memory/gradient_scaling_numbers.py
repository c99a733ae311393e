"""The key numbers of the gradient scaling page."""

from __future__ import annotations

from engine.figures.grad_scaler_words import share, spread_named
from engine.figures.units import format_count
from engine.grad_scaler.results import Scaled, Share
from engine.grad_scaler.spec import GradScalerSpec
from pages.shared.key_numbers import KeyNumber

NOT_FINISHED = "no step"
LARGEST = 1e7
"""A longer scale does not fit its box digit by digit."""


def numbers_of(spec: GradScalerSpec, found: Scaled) -> tuple[KeyNumber, ...]:
    """Steps skipped, the scale and loss at the end, and what float16 rounds to 0."""
    steps = found.run.steps
    spread = spread_named(found, "parameters")
    shares = () if spread is None else (share(spread, "float16", 1.0), share(spread, "float16", spec.init_scale))
    without, scaled = [_part(one) for one in shares] or (None, None)
    last = steps[-1] if steps else None
    unit = "count" if last is not None and last.scale_after.is_integer() and last.scale_after < LARGEST else ""
    counted = [f"{format_count(one.to_zero)} of {format_count(one.counted)} gradients of float32" for one in shares]
    of = [f"{words} become 0 by `.to(torch.float16)`" for words in counted] or ["gradients"] * 2
    return (
        KeyNumber(
            "Steps skipped",
            sum(step.skipped for step in steps) if steps else None,
            "count",
            "`found_inf_per_device` before `update()`, and parameters with the same bits",
            NOT_FINISHED,
        ),
        KeyNumber("Last scale", last.scale_after if last else None, unit, "`scaler.get_scale()`", NOT_FINISHED),
        KeyNumber("Last loss", last.loss if last else None, "", "`loss.item()` of the last step", NOT_FINISHED),
        KeyNumber("Zeros in fp16", without, "share", of[0], "no gradient"),
        KeyNumber("Zeros, scaled", scaled, "share", f"{of[1]} after `* init_scale`", "no gradient"),
    )


def _part(found: Share) -> float | None:
    return found.to_zero / found.counted if found.counted else None
