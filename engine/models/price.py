"""What a ModelSpec will need at its peak, worked out before anything is allocated."""

from __future__ import annotations

from engine.models.architecture import Embedding, Recurrent
from engine.models.size import parameter_count, small_elements
from engine.models.spec import ModelSpec
from engine.models.toggles import is_checkpointed
from engine.models.trial import Trial, measure_trial
from engine.runner.contract import MEBIBYTE, Price
from engine.runner.faults import size

SMALL_BYTES = 8 * MEBIBYTE
"""Below this the closed bound is used as it is: no limit is near, and a trial would take longer than the run."""
ITEM_BYTES = {"float32": 4, "float64": 8, "bfloat16": 2}
FUSED_LSTM_FACTOR = 3  # oneDNN's workspace for nn.LSTM on the CPU; 1.9 to 2.4 times the unrolled bytes were measured


def price(spec: ModelSpec) -> Price:
    """Predicted peak of building `spec`, one forward, its loss and one backward; an upper estimate."""
    item, parameters = ITEM_BYTES[spec.dtype], parameter_count(spec.architecture)
    elements = small_elements(spec.architecture)
    if elements is not None and (bound := (2 * parameters + 2 * spec.batch * elements) * max(4, item)) < SMALL_BYTES:
        return Price(predicted_bytes=bound, what="parameters, gradients and every activation of a small model")
    trial = measure_trial(spec)
    if _is_fused_lstm(spec):
        trial.block_bytes = [FUSED_LSTM_FACTOR * saved + MEBIBYTE // 16 for saved in trial.block_bytes]
    held, recompute = checkpointed_bytes(spec, trial)
    weights, gradients = parameters * item, gradient_bytes(spec, parameters * item)
    casts = 0
    if spec.autocast != "off":  # autocast keeps a two-byte copy of weights and inputs beside the originals
        casts = 2 * parameters
        held, recompute = held * 3 // 2, recompute * 3 // 2
    working = trial.output_bytes + 2 * trial.largest_bytes
    running = weights + gradients + casts + held + recompute + working
    drawing = parameters * 4 + (weights if item != 4 else 0)  # weights are drawn in float32, then converted
    return Price(
        predicted_bytes=max(running, drawing),
        what=f"parameters {size(weights)}, gradients and casts {size(gradients + casts)}, "
        f"kept for backward {size(held)}, recomputed {size(recompute)}, outputs and working space {size(working)}",
    )


def _is_fused_lstm(spec: ModelSpec) -> bool:
    a = spec.architecture
    return (
        isinstance(a, Recurrent) and a.fused and a.cell == "lstm" and spec.device == "cpu" and spec.dtype != "float64"
    )


def gradient_bytes(spec: ModelSpec, weights: int) -> int:
    """One gradient per weight; a sparse embedding gradient holds the looked-up rows and their int64 indices."""
    a = spec.architecture
    if isinstance(a, Embedding) and a.sparse:
        return spec.batch * a.tokens * (a.width * ITEM_BYTES[spec.dtype] + 8)
    return weights


def checkpointed_bytes(spec: ModelSpec, trial: Trial) -> tuple[int, int]:
    """(bytes held between forward and backward, most bytes one recomputation brings back)."""
    groups = checkpoint_groups(spec, len(trial.block_bytes))
    dropped = sum(sum(trial.block_bytes[i] for i in group) for group in groups)
    first, last = {group[0] for group in groups}, {group[-1] for group in groups}
    kept = sum(trial.handed_on_bytes[i] for i in last if i + 1 not in first)
    for i in first:
        already = trial.handed_on_bytes[i - 1] if i and i - 1 not in last else 0  # held by a block that runs plainly
        kept += max(0, trial.input_bytes[i] - already)
    recompute = max((sum(trial.block_bytes[i] for i in group) for group in groups), default=0)
    return trial.saved_bytes - dropped + kept, recompute


def checkpoint_groups(spec: ModelSpec, blocks: int) -> list[range]:
    """Runs of blocks recomputed together under the policy of `spec`."""
    if spec.checkpoint == "segments":
        size = blocks // spec.checkpoint_segments  # checkpoint_sequential runs the last segment plainly
        return [range(i * size, (i + 1) * size) for i in range(spec.checkpoint_segments - 1)]
    return [range(i, i + 1) for i in range(blocks) if is_checkpointed(spec, i)]
