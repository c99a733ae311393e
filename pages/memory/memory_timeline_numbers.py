"""The key numbers of a run, and its peak in words."""

from __future__ import annotations

import numpy as np

from engine.figures.memory_words import category_words, phase_words
from engine.figures.units import format_bytes, format_count
from engine.memory.blocks import CATEGORIES
from engine.memory.ledger import bytes_at, growth, last_step, live_totals, peak_event, phase_at
from engine.memory.spec import MemoryTrace
from pages.shared.key_numbers import KeyNumber

COUNTED = "the allocation events of torch.profiler, CUDA: `memory_stats()`"
LIVE = "the running sum of every allocation and free"


def key_numbers(trace: MemoryTrace) -> tuple[KeyNumber, ...]:
    """Peak, what of it is saved, the end, growth over the last step, events, and the allocator's word."""
    peak, totals, steps = peak_event(trace), live_totals(trace), growth(trace)
    at_peak = None if peak is None else bytes_at(trace, peak)
    saved = None if at_peak is None else at_peak["saved"] + at_peak["recomputed"]
    more = float(sum(steps[-1].more.values())) if len(steps) > 1 else None
    numbers = [
        KeyNumber("Peak", None if peak is None else int(totals[peak]), "bytes", f"largest value of {LIVE}"),
        KeyNumber("Saved at the peak", saved, "bytes", "saved and recomputed blocks alive at the peak"),
        KeyNumber("At the end", int(totals[-1]) if totals.size else None, "bytes", f"last value of {LIVE}"),
        KeyNumber(
            "Last step added", more, "bytes", "live bytes at the end of the last step minus the step before", "one step"
        ),
        KeyNumber("Events", trace.events, "count", "allocations and frees of the allocator"),
        KeyNumber(
            "Largest difference", trace.largest_difference_bytes, "bytes", f"live bytes against {COUNTED}, at any event"
        ),
    ]
    if trace.device_peak_bytes is not None:
        numbers.append(
            KeyNumber("CUDA's own peak", trace.device_peak_bytes, "bytes", "`torch.cuda.max_memory_allocated()`")
        )
    if trace.reserved_bytes is not None:
        numbers.append(KeyNumber("Reserved", trace.reserved_bytes, "bytes", "`torch.cuda.memory_reserved()`"))
    return tuple(numbers)


def peak_words(trace: MemoryTrace) -> str:
    """When the peak is and what held it, largest share first."""
    peak = peak_event(trace)
    if peak is None:
        return "The allocator gave out no memory in this run."
    held = sorted(bytes_at(trace, peak).items(), key=lambda item: -item[1])
    total = sum(size for _, size in held)
    parts = [f"{category_words(name)} {format_bytes(size)} ({size / total:.0%})" for name, size in held[:4] if size]
    where = phase_words(phase_at(trace, peak))
    return (
        f"The peak, **{format_bytes(total)}**, comes in **{where}** (event {format_count(peak)}), "
        f"held by {', '.join(parts)}."
    )


def peak_by_step(trace: MemoryTrace) -> list[tuple[int, int, str]]:
    """(step, peak bytes, phase) of every step."""
    totals, found = live_totals(trace), []
    for step in range(1, last_step(trace) + 1):
        event = peak_event(trace, step)
        if event is not None:
            found.append((step, int(totals[event]), phase_words(phase_at(trace, event))))
    return found


def recomputed_peak(trace: MemoryTrace) -> int:
    """Most bytes of recomputed blocks alive at once."""
    live = trace.blocks.live_bytes(trace.events)[CATEGORIES.index("recomputed")]
    return int(np.max(live, initial=0))
