"""The key numbers of one policy."""

from __future__ import annotations

from engine.checkpointing.policy import Policy
from engine.checkpointing.spec import Outcome
from engine.figures.checkpointing_words import Row
from pages.shared.key_numbers import KeyNumber

HELD = (
    "`torch.autograd.graph.saved_tensors_hooks` around the forward: storages kept for backward, each once, without "
    "parameters, buffers and inputs"
)
PEAK = "the allocator's `total_allocated` in `torch.profiler` events, above what was there before the step"


def key_numbers(row: Row, missing: str = "not run") -> tuple[KeyNumber, ...]:
    """Bytes held and peak, FLOPs run again, time against off, gradients that differ; `missing` says why not."""
    ran = row.outcome if row.outcome is not None and row.outcome.error is None else None
    missing = "refused" if row.outcome is not None and ran is None else missing
    ratio = 1.0 if row.policy == Policy() else row.ratio.ratio if row.ratio is not None else None
    again = _share(ran)
    return (
        KeyNumber("Held", ran.held_bytes if ran else None, "bytes", HELD, missing),
        KeyNumber("Peak", ran.peak_bytes if ran else None, "bytes", PEAK, missing),
        KeyNumber("FLOPs again", again, "%", "`torch.utils.flop_counter`, share of the forward's FLOPs", missing),
        KeyNumber(
            "Time / off", ratio, "", "thread CPU time, median of paired ratios over interleaved rounds", "not timed"
        ),
        KeyNumber(
            "Differ from off",
            len(ran.differing) if ran and ran.gradients_identical is not None else None,
            "count",
            "`torch.equal(p.grad, p_off.grad)` of every parameter and input",
            missing,
        ),
    )


def matching(row: Row, others: tuple[Row, ...]) -> Row | None:
    """The row of run A that stands for the same policy: the very one, else the first of its kind."""
    same = [one for one in others if one.policy == row.policy]
    alike = [one for one in others if one.policy.kind == row.policy.kind]
    return next(iter([*same, *alike]), None)


def _share(ran: Outcome | None) -> float | None:
    if ran is None or not ran.forward_flops:
        return None
    return ran.recomputed_flops / ran.forward_flops
