"""Memory traces made by hand: a step of one Linear + ReLU, twice, with every number known."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.memory.blocks import Category, Held, pack_blocks
from engine.memory.spec import MemoryTrace, Phase
from engine.runner.contract import Array


def held(count_bytes: int, born: int, died: int, category: Category, name: str = "", **other: Any) -> Held:
    """A block of float32 with a name, in no module where none is given."""
    fields: dict[str, Any] = {
        "shape": (count_bytes // 4,),
        "dtype": "float32",
        "module": "",
        "operation": "aten::empty",
        "source": None,
        "holders": (),
    }
    return Held(bytes=count_bytes, born=born, died=died, category=category, name=name, **fields | other)


def trace_of(rows: list[Held], phases: tuple[Phase, ...], events: int, **other: Any) -> MemoryTrace:
    """The trace of blocks whose events are 0..events-1, one millisecond apart."""
    blocks = pack_blocks(rows)
    counter = blocks.live_bytes(events).sum(axis=0)
    return MemoryTrace(
        blocks=blocks,
        event_s=Array("float64", (events,), (np.arange(events) * 1e-3).astype("<f8").tobytes()),
        allocator_bytes=Array("int64", (events,), counter.astype("<i8").tobytes()),
        phases=phases,
        largest_difference_bytes=0,
        **other,
    )


def two_steps() -> MemoryTrace:
    """Weight 400 B and input 80 B; each step saves 120 B, and its loss is kept: the graph of step 1 outlives it.

    Live bytes by event: 400, 480 | 600, 604 | 1004 (gradient), 1204 (temporary), 1004 | 1804 (state) | 1404 (no .grad)
    | 1524, 1528 | 1928 (gradient) | 1528.
    """
    rows = [
        held(400, 0, -1, "parameter", "linear.weight", module="linear"),
        held(80, 1, -1, "input", "input"),
        held(120, 2, -1, "saved", "ReluBackward0.result", module="linear", holders=("ReluBackward0.result",)),
        held(4, 3, -1, "output", "loss"),
        held(400, 4, 8, "gradient", "linear.weight.grad", operation="aten::mm"),
        held(200, 5, 6, "temporary", operation="aten::mm"),
        held(800, 7, -1, "optimizer_state", "linear.weight.exp_avg"),
        held(120, 9, -1, "saved", "ReluBackward0.result", module="linear", holders=("ReluBackward0.result",)),
        held(4, 10, -1, "output", "loss"),
        held(400, 11, 12, "gradient", "linear.weight.grad", operation="aten::mm"),
    ]
    phases = (
        Phase("build", 0, 0, 2),
        Phase("forward", 1, 2, 3),
        Phase("loss", 1, 3, 4),
        Phase("backward", 1, 4, 7),
        Phase("recompute", 1, 5, 6),
        Phase("optimizer step", 1, 7, 8),
        Phase("zero_grad", 1, 8, 9),
        Phase("end of step", 1, 9, 9),
        Phase("forward", 2, 9, 10),
        Phase("loss", 2, 10, 11),
        Phase("backward", 2, 11, 12),
        Phase("zero_grad", 2, 12, 13),
        Phase("end of step", 2, 13, 13),
    )
    return trace_of(rows, phases, 13)


LIVE = (400, 480, 600, 604, 1004, 1204, 1004, 1804, 1404, 1524, 1528, 1928, 1528)
"""What is alive after each event of `two_steps`, added up by hand."""
