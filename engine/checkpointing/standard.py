"""The policies worth showing for a model, without torch."""

from __future__ import annotations

import math
from itertools import pairwise

from engine.checkpointing.policy import Policy, label_of
from engine.models.architecture import ConvNet, Gpt, Recurrent, ResNet, TiedLoop
from engine.models.spec import ModelSpec, block_count

ARTICLE_K = 5
"""Every how manieth layer the article checkpoints."""
_ADDMM, _BMM, _MM, _CONVOLUTION = (f"aten.{name}.default" for name in ("addmm", "bmm", "mm", "convolution"))
_ATTENTION = {
    "cpu": ("aten._scaled_dot_product_flash_attention_for_cpu.default",),
    "cuda": (
        "aten._scaled_dot_product_flash_attention.default",
        "aten._scaled_dot_product_efficient_attention.default",
    ),
}


def standard_policies(model: ModelSpec) -> tuple[Policy, ...]:
    """Off first, then those that mean something for `model`: without blocks only offloads remain; all different."""
    blocks = block_count(model.architecture)
    away = (Policy(kind="save_on_cpu"), Policy(kind="save_on_disk"))
    if not blocks:
        return (Policy(), *away)
    several = (
        (Policy(kind="every_k", k=ARTICLE_K), *_segmented(blocks), square_root_groups(blocks)) if blocks > 1 else ()
    )
    each = (Policy(kind="each_block"), Policy(kind="each_block", use_reentrant=True))
    keep = matrix_operations(model)
    selective = (Policy(kind="selective", keep=keep),) if keep else ()
    return (Policy(), *several, *each, *selective, *away)


def square_root_segments(blocks: int) -> Policy:
    """checkpoint_sequential in sqrt(blocks) segments, at least 2: of fewer than 2 none is checkpointed."""
    return Policy(kind="segments", segments=max(2, round(math.sqrt(blocks))))


def equal_groups(blocks: int, count: int) -> Policy:
    """`count` runs of blocks of about one length, each a checkpoint, the last one too."""
    places = [i * blocks // count for i in range(count + 1)]
    return Policy(kind="groups", groups=tuple(pairwise(places)))


def square_root_groups(blocks: int) -> Policy:
    """As many as square_root_segments: what books mean, where torch's checkpoint_sequential leaves the last plain."""
    return equal_groups(blocks, min(blocks, square_root_segments(blocks).segments))


def titled(policy: Policy, blocks: int) -> str:
    """Its label in a model of so many blocks: sqrt(n) segments and groups say that they are, "√n = 7 segments"."""
    if blocks > 1 and policy == square_root_segments(blocks):
        return f"√n = {label_of(policy)}"
    if blocks > 1 and policy == square_root_groups(blocks):
        return f"√n = {len(policy.groups)} {label_of(policy)}"
    return label_of(policy)


def _segmented(blocks: int) -> list[Policy]:
    """sqrt(n) segments first, then half and twice as many where there are so many blocks."""
    middle = square_root_segments(blocks).segments
    numbers = dict.fromkeys((middle, middle // 2, 2 * middle))
    return [Policy(kind="segments", segments=number) for number in numbers if 2 <= number <= blocks]


def matrix_operations(model: ModelSpec) -> tuple[str, ...]:
    """Overloads that do most of the arithmetic in the blocks of `model`: what is dear to run again.

    None for torch's own LSTM, GRU and RNN step by step, which write in place into what was to be kept, and none for a
    weight used again under autocast, whose cast is there the first time and not when run again.
    """
    a = model.architecture
    if isinstance(a, TiedLoop) and model.autocast != "off":
        return ()
    attention = _ATTENTION.get(model.device, ())
    if isinstance(a, Recurrent):
        return _of_recurrent(model, a)
    if isinstance(a, ConvNet):
        more = {"convnext": (_ADDMM,), "attention": (_MM, *attention)}
        return (_CONVOLUTION, *more.get(a.block, ()))
    if isinstance(a, ResNet):
        return (_CONVOLUTION,)
    if isinstance(a, Gpt):
        written_out = a.attention == "explicit" or (a.dropout > 0 and model.train and model.device == "cpu")
        return (_ADDMM, *((_BMM,) if written_out else attention))
    return (_ADDMM,)


def _of_recurrent(model: ModelSpec, a: Recurrent) -> tuple[str, ...]:
    if a.cell in ("hand_written_rnn", "hand_written_lstm"):
        return (_ADDMM,)
    fused = a.fused and a.cell == "lstm" and model.device == "cpu" and model.dtype != "float64"
    return ("aten.mkldnn_rnn_layer.default",) if fused else ()
