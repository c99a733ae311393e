"""The key numbers of a traced model."""

from __future__ import annotations

from engine.graph.spec import Traced
from pages.shared.key_numbers import KeyNumber


def key_numbers(traced: Traced) -> tuple[KeyNumber, ...]:
    """Nodes, saved bytes, dropped slots, leaves with a gradient, and the loss."""
    with_gradient = sum(leaf.grad_norm is not None for leaf in traced.leaves)
    held = traced.graph.saved_bytes if traced.held_bytes is None else traced.held_bytes
    return (
        KeyNumber("Nodes", len(traced.graph.nodes), "count", "`grad_fn.next_functions`, followed from the loss"),
        KeyNumber(
            "Saved bytes",
            held,
            "bytes",
            "`saved_tensors_hooks`, each storage counted once"
            if traced.held_bytes is not None
            else "`node._raw_saved_*`, each storage counted once",
        ),
        KeyNumber(
            "Dropped slots", traced.graph.dropped_slots, "count", "`SavedTensor.unpack_hook`: a recipe, not a tensor"
        ),
        KeyNumber("Leaves with .grad", with_gradient, "count", "`tensor.grad` after `loss.backward()`"),
        KeyNumber("Loss", traced.loss, "", "`loss.item()`"),
    )
