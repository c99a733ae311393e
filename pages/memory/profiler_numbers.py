"""The key numbers of a profile."""

from __future__ import annotations

from engine.profiler.spec import Profiled
from pages.shared.key_numbers import KeyNumber


def key_numbers(profiled: Profiled) -> tuple[KeyNumber, ...]:
    """What is alive at the end, allocated and freed in total, the peak, and how many operations ran."""
    return (
        KeyNumber(
            "Still alive",
            profiled.alive_bytes,
            "bytes",
            "allocation events of the profile without a free; equals the sum of self_cpu_memory_usage over all rows "
            "where nothing older was freed",
        ),
        KeyNumber("Allocated", profiled.allocated_bytes, "bytes", "allocation events, alloc_size > 0"),
        KeyNumber("Freed", profiled.freed_bytes, "bytes", "allocation events, alloc_size < 0"),
        KeyNumber(
            "Peak", profiled.peak_bytes, "bytes", "the largest running sum of alloc_size since the profile began"
        ),
        KeyNumber("Operations", len(profiled.operations), "count", "events of kineto_results with a duration"),
    )
