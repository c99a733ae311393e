"""The key numbers of a recorded backward pass."""

from __future__ import annotations

from engine.figures.replay_words import Flow, flow_of
from engine.figures.units import format_time
from engine.replay.spec import Replay
from engine.summary import TensorSummary
from pages.shared.key_numbers import KeyNumber


def edge_gradients(replay: Replay) -> list[TensorSummary]:
    """Every gradient that a step handed on, each tensor once."""
    handed = {at for step in replay.steps for at in step.returned if at is not None}
    return [replay.gradients[at] for at in sorted(handed)]


def key_numbers(replay: Replay) -> tuple[KeyNumber, ...]:
    """Steps, time, the largest and the smallest gradient, how many are not finite, leaves with a gradient."""
    gradients = edge_gradients(replay)
    norms = [one.norm for one in gradients if flow_of(one) is Flow.FINITE and one.norm > 0]
    bad = sum(flow_of(one) is Flow.NON_FINITE for one in gradients)
    recorded = sum(one.duration_s for one in replay.passes)
    took = f"with a hook on every node and all gradients read {format_time(recorded)}"
    plain = f"`time.perf_counter()` around the same backward without hooks, median of a few; {took}"
    with_gradient = sum(leaf.grad_norm is not None for leaf in replay.leaves)
    return (
        KeyNumber("Steps", len(replay.steps), "count", "hooks on every node: a step is one call of one by the engine"),
        KeyNumber("Plain backward", replay.plain_backward_s, "s", plain),
        KeyNumber(
            "Largest norm",
            max(norms, default=None),
            "",
            "`gradient.norm()` of what steps handed on; a `.grad` that sums several can be longer",
        ),
        KeyNumber("Smallest norm", min(norms, default=None), "", "the same, of gradients that are not all 0"),
        KeyNumber("Not finite", bad, "count", "`gradient.isfinite().all()` of what steps handed on"),
        KeyNumber("With .grad", with_gradient, "count", "`tensor.grad` of parameters and inputs, after the last call"),
    )
