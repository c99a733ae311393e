"""The key numbers of a traced model."""

from __future__ import annotations

from engine.graph.spec import Traced
from pages.shared.key_numbers import KeyNumber

SAVED_FROM = (
    "`node._raw_saved_*`, under a checkpoint from `saved_tensors_hooks`, which also see the inputs that it keeps; "
    "each storage counted once"
)


def saved_bytes(traced: Traced) -> int:
    """What saved tensors hold, under a checkpoint what it keeps included."""
    return traced.graph.saved_bytes if traced.held_bytes is None else traced.held_bytes


def key_numbers(traced: Traced) -> tuple[KeyNumber, ...]:
    """Nodes, saved bytes and the part that only backward keeps alive, dropped slots, leaves with a gradient, loss."""
    graph = traced.graph
    saved = saved_bytes(traced)
    own = saved - graph.parameter_bytes - graph.buffer_bytes
    with_gradient = sum(leaf.grad_norm is not None for leaf in traced.leaves)
    return (
        KeyNumber("Nodes", len(graph.nodes), "count", "`grad_fn.next_functions`, followed from the loss"),
        KeyNumber("Saved bytes", saved, "bytes", SAVED_FROM),
        KeyNumber(
            "Beyond params", own, "bytes", f"{SAVED_FROM}, less the storages that parameters and buffers own anyway"
        ),
        KeyNumber("Dropped slots", graph.dropped_slots, "count", "`SavedTensor.unpack_hook`: a recipe, not a tensor"),
        KeyNumber("With .grad", with_gradient, "count", "`tensor.grad` after `loss.backward()`"),
        KeyNumber("Loss", traced.loss, "", "`loss.item()`"),
    )
