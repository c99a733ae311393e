"""The most that one call has allocated at once, from the events of PyTorch's CPU allocator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

from torch.profiler import ProfilerActivity, profile

from engine.garbage import collected_before


def peak_bytes(call: Callable[[], object]) -> int:
    """Largest running sum of allocations and frees while `call` runs once; what lived before counts as nothing.

    From `torch.profiler` with profile_memory=True: one "[memory]" event per block, negative where it is given back.
    """
    kept: list[Any] = []
    with collected_before(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        kept.append(call())
    events = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return max(accumulate((int(event.nbytes()) for event in events), initial=0))
