"""What the allocator had given out when the forward ended, and at most, by its own events."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from engine.checkpointing.policies import Applied
from engine.garbage import collected_before

_BETWEEN = "torch atlas: the forward ended"


def live_and_peak_bytes(one: Applied) -> tuple[int, int]:
    """(at the end of forward and loss, the most during forward, loss and backward), above what was there before.

    The outputs stay alive until the end, as in a training loop that has a name for them. Leaves gradients behind.
    """
    return _on_cuda(one) if one.built.spec.device == "cuda" else _on_cpu(one)


def _on_cpu(one: Applied) -> tuple[int, int]:
    """From torch.profiler: one "[memory]" event per block, negative where it is given back."""
    with collected_before(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        outputs, loss = one.run()
        with record_function(_BETWEEN):
            pass
        loss.backward()  # type: ignore[no-untyped-call]
        del outputs
    events: list[Any] = list(recorded.profiler.kineto_results.events())
    between = next(event.start_ns() for event in events if event.name() == _BETWEEN)
    blocks = [(e.start_ns(), int(e.nbytes())) for e in events if e.name() == "[memory]"]
    blocks.sort(key=lambda block: block[0])
    live = sum(nbytes for at, nbytes in blocks if at < between)
    return live, max(accumulate((nbytes for _, nbytes in blocks), initial=0))


def _on_cuda(one: Applied) -> tuple[int, int]:
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    outputs, loss = one.run()
    live = torch.cuda.memory_allocated() - before
    loss.backward()  # type: ignore[no-untyped-call]
    del outputs
    return live, torch.cuda.max_memory_allocated() - before
