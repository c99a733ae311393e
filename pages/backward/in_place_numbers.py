"""The key numbers of a program and of an update."""

from __future__ import annotations

from engine.in_place.results import Update
from engine.in_place.spec import Traced, Updated
from pages.shared.key_numbers import KeyNumber


def program_numbers(traced: Traced) -> tuple[KeyNumber, ...]:
    """Over the whole run."""
    steps = traced.run.steps
    saved = max((sum(slot.storage >= 0 for slot in step.saved) for step in steps), default=0)
    # a name that is taken away takes its stale slots with it: they can break nothing any more
    last = steps[-2:] if traced.run.error is not None else steps[-1:]
    stale = max((sum(slot.state == "stale" for slot in step.saved) for step in last), default=0)
    silent = max((sum(slot.state == "overwritten" for slot in step.saved) for step in steps), default=0)
    memory = sum(storage.nbytes for storage in traced.run.storages)
    return (
        KeyNumber("Writes in place", len(traced.run.bumps), "count", "calls after which `tensor._version` was higher"),
        KeyNumber("Saved tensors", saved, "count", "the raw saved slots of every node, the most after one statement"),
        KeyNumber(
            "Stale", stale, "count", "slots, after the last statement that ran, whose saved version is not `_version`"
        ),
        KeyNumber("Overwritten", silent, "count", "slots with an equal version and other values than saved"),
        KeyNumber("Memory", memory, "bytes", "`untyped_storage().nbytes()` of every storage that a name or node held"),
    )


def update_numbers(updated: Updated) -> tuple[KeyNumber, ...]:
    """The in-place form against new data."""
    first = _form(updated, "in place")
    second = _form(updated, "new data")
    reading = "new storages in outputs, seen by a `TorchDispatchMode`, per step"
    return (
        KeyNumber("Parameters", updated.parameter_bytes, "bytes", "`tensor.nbytes` of all parameters"),
        KeyNumber("In place", first.allocations, "count", reading),
        KeyNumber("New data", second.allocations, "count", reading),
        KeyNumber("New data bytes", second.allocated_bytes, "bytes", f"bytes of {reading}"),
        KeyNumber("Difference", updated.largest_difference, "", "the parameters of all forms after all steps"),
    )


def _form(updated: Updated, name: str) -> Update:
    return next(update for update in updated.updates if update.name == name)
