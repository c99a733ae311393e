"""Carry a chain out step by step and record what each step did."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import torch

from engine.pytorch_said import attempt
from engine.recorded import storage_of
from engine.storage.apply import StepRefused, apply_step
from engine.storage.contents import read_contents
from engine.storage.inspect import Known, inspect_layout
from engine.storage.operations import Step
from engine.storage.spec import Layout, StepOutcome, StorageContents, ViewAttempt


@dataclass
class Chain:
    """Tensors of a chain with what is known of them; all are held, so that no freed memory is taken for shared."""

    tensors: list[torch.Tensor]
    layouts: list[Layout] = field(default_factory=list)
    outcomes: list[StepOutcome] = field(default_factory=list)
    known: Known = field(default_factory=Known)

    def __post_init__(self) -> None:
        self.known.add_step(self.tensors[0])
        self.layouts.append(inspect_layout(self.tensors[0], self.known))

    @property
    def end(self) -> torch.Tensor:
        return self.tensors[-1]

    @property
    def is_whole(self) -> bool:
        """Whether no step was refused."""
        return len(self.outcomes) + 1 == len(self.tensors)

    def take(self, step: Step) -> bool:
        """Carry out one step and record it; False when PyTorch refused it."""
        with all_warnings() as caught:
            tensor, error = attempt(lambda: apply_step(self.end, step), ours=(StepRefused,))
        told = texts_of(caught)
        if tensor is None:
            self.outcomes.append(StepOutcome("error", warnings=told, error=error))
            return False
        kind, copied = compare_storage(self.end, tensor)
        self.outcomes.append(StepOutcome(kind, copied, told))
        self.tensors.append(tensor)
        self.known.add_step(tensor)
        self.layouts.append(inspect_layout(tensor, self.known))
        return True

    def contents(self, shown_elements: int) -> tuple[StorageContents, ...]:
        """Every storage of the chain in order of appearance, read as the first tensor that showed it."""
        found: dict[int, StorageContents] = {}
        for tensor in self.tensors:
            number = self.known.storage_id(tensor)
            if number not in found:
                found[number] = read_contents(tensor, number, shown_elements)
        return tuple(found.values())


def compare_storage(before: torch.Tensor, after: torch.Tensor) -> tuple[Literal["same", "view", "copy"], int]:
    """("same" | "view" | "copy", bytes of the new storage): told by the identity of the storages, both being held.

    The identity is that of the storage object, not its address: storages of zero bytes all have address 0.
    """
    if after is before:
        return "same", 0
    identity, held = storage_of(after)
    return ("view", 0) if identity == storage_of(before)[0] else ("copy", held)


def try_view(chain: Chain, shape: tuple[int, ...]) -> ViewAttempt:
    """`.view(shape)` and `.reshape(shape)` on the end of the chain; neither changes it."""
    viewed, view_error = attempt(lambda: chain.end.view(shape))
    reshaped, reshape_error = attempt(lambda: chain.end.reshape(shape))
    return ViewAttempt(
        shape=shape,
        view=None if viewed is None else inspect_layout(viewed, chain.known),
        view_error=view_error,
        reshape=None if reshaped is None else inspect_layout(reshaped, chain.known),
        reshape_error=reshape_error,
        reshape_copied_bytes=0 if reshaped is None else compare_storage(chain.end, reshaped)[1],
    )


@contextmanager
def all_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collects warnings, also those that PyTorch gives once per process."""
    always = torch.is_warn_always_enabled()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.set_warn_always(True)
        try:
            yield caught
        finally:
            torch.set_warn_always(always)


def texts_of(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Each distinct warning as "Category: text"."""
    return tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught))
