"""trace_broadcast and trace_einsum: carry the operation out and read what PyTorch made of it."""

from __future__ import annotations

from engine.broadcasting.contraction import price_einsum, trace_einsum
from engine.broadcasting.expanded import price_broadcast, trace_broadcast
from engine.broadcasting.spec import BroadcastSpec, EinsumSpec
from engine.runner.contract import Price

__all__ = ["price", "trace_broadcast", "trace_einsum"]


def price(spec: BroadcastSpec | EinsumSpec) -> Price:
    """What the run allocates; sizes too large for a look are read from the meta device and cost nothing."""
    return price_broadcast(spec) if isinstance(spec, BroadcastSpec) else price_einsum(spec)
