"""The key numbers of a moment: live bytes, what they are, and whether the allocator counts the same."""

from __future__ import annotations

from engine.figures.arrays import array
from engine.memory.ledger import bytes_at
from engine.memory.spec import MemoryTrace
from pages.shared.key_numbers import KeyNumber

COUNTED = "the allocation events of torch.profiler, CUDA: `memory_stats()`"


def key_numbers(trace: MemoryTrace, event: int) -> tuple[KeyNumber, ...]:
    """Sums over the blocks that are alive after `event`, each storage once."""
    by_category = bytes_at(trace, event)
    trained = sum(by_category[one] for one in ("parameter", "gradient", "optimizer_state"))
    return (
        KeyNumber("Live bytes", sum(by_category.values()), "bytes", "every block alive at this moment, each once"),
        KeyNumber("Saved for backward", by_category["saved"], "bytes", "storages of the nodes' saved tensors alone"),
        KeyNumber("Weights, grads, state", trained, "bytes", "`parameters()`, their `.grad`, `optimizer.state`"),
        KeyNumber("Allocator counts", int(array(trace.allocator_bytes)[event]), "bytes", COUNTED),
        KeyNumber(
            "Largest difference",
            trace.largest_difference_bytes,
            "bytes",
            f"live bytes against the allocator's own counter, at any event; 0: every byte is explained; {COUNTED}",
        ),
    )
