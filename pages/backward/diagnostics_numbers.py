"""The key numbers of a diagnosis."""

from __future__ import annotations

from engine.diagnostics.results import Diagnosis, State
from pages.shared.key_numbers import KeyNumber

NONE_OF = "`.grad` of every leaf that requires one, and of a variable that is no leaf though its leaf has no name"


def numbers_of(diagnosis: Diagnosis) -> tuple[KeyNumber, ...]:
    """Leaves by state, dead units, the loss."""
    leaves = [one for one in diagnosis.watched if one.is_leaf and one.requires_grad]

    def count(state: State) -> int:
        return sum(one.state == state for one in leaves)

    meant = sum(one.stands_for_a_leaf for one in diagnosis.watched)
    dead = sum(row.dead for row in diagnosis.units)
    return (
        KeyNumber("Leaves with a gradient", count("gradient"), "count", "`.grad` of every leaf that requires one"),
        KeyNumber(".grad is None", count("none") + meant, "count", NONE_OF),
        KeyNumber("Exactly 0", count("zero"), "count", "`.grad.any()` of every leaf"),
        KeyNumber("NaN or infinite", count("non_finite"), "count", "`torch.isfinite(.grad)` of every leaf"),
        KeyNumber("Dead units", dead, "count", "what every activation returned, over the batch", "no activation"),
        KeyNumber("Loss", diagnosis.loss, "", "`loss.item()`", "none"),
    )
