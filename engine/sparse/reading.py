"""Reading a sparse tensor into plain values: its arrays, its bytes, and what it says when asked like a dense one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from engine.pytorch_said import said
from engine.sparse.build import MEMBERS, arrays_of, count_entries
from engine.sparse.matrix import LayoutName
from engine.sparse.results import Fact, LayoutArrays, Member

QUESTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "stride()": lambda tensor: tuple(tensor.stride()),
    "is_contiguous()": lambda tensor: tensor.is_contiguous(),
    "storage_offset()": lambda tensor: tensor.storage_offset(),
    "untyped_storage().nbytes()": lambda tensor: tensor.untyped_storage().nbytes(),
    "data_ptr()": lambda tensor: tensor.data_ptr(),
    "nbytes": lambda tensor: tensor.nbytes,
    "numel()": lambda tensor: tensor.numel(),
    "is_coalesced()": lambda tensor: tensor.is_coalesced(),
    "values().shape": lambda tensor: tuple(tensor.values().shape),
    "sparse_dim()": lambda tensor: tensor.sparse_dim(),
    "dense_dim()": lambda tensor: tensor.dense_dim(),
    "is_leaf": lambda tensor: tensor.is_leaf,
}
"""Asked of every layout; what a dense tensor answers, a sparse one may refuse or answer differently."""


@contextmanager
def listening(heard: list[str]) -> Iterator[None]:
    """Collect warnings as "Category: text", also those that PyTorch gives once per process."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        torch.set_warn_always(always)
    heard += dict.fromkeys(f"{w.category.__name__}: {str(w.message).split(' (Triggered')[0]}" for w in caught)


def read_layout(
    make: Callable[[], torch.Tensor], layout: LayoutName, dense: torch.Tensor | None = None
) -> LayoutArrays:
    """Make the tensor and read it; a refusal to make it is the result's error."""
    heard: list[str] = []
    try:
        with listening(heard):
            tensor = make()
    except Exception as error:
        return LayoutArrays(layout=layout, error=said(error), warnings=tuple(heard))
    members = read_members(tensor, layout)
    return LayoutArrays(
        layout=layout,
        members=members,
        nnz=count_entries(tensor),
        stored=arrays_of(tensor, layout)[-1].numel(),
        bytes=sum(member.bytes for member in members),
        held_bytes=_held_bytes(arrays_of(tensor, layout)),
        is_coalesced=tensor.is_coalesced() if layout == "coo" else None,
        equals_dense=None if dense is None else same_values(tensor, dense),
        facts=tuple(_ask(tensor, expression) for expression in QUESTIONS),
        warnings=tuple(heard),
    )


def _held_bytes(arrays: tuple[torch.Tensor, ...]) -> int:
    """Bytes of the storages behind the arrays, each storage once."""
    storages = {array.untyped_storage().data_ptr(): array.untyped_storage().nbytes() for array in arrays}
    return sum(storages.values())


def read_members(tensor: torch.Tensor, layout: LayoutName) -> tuple[Member, ...]:
    """The arrays of the tensor as plain values."""
    arrays = arrays_of(tensor, layout)
    return tuple(read_member(name, array) for name, array in zip(MEMBERS[layout], arrays, strict=True))


def read_member(name: str, array: torch.Tensor) -> Member:
    """One dense array: whole numbers for indices, text for values."""
    is_index = name.endswith("indices") and not array.is_floating_point()
    flat = array.detach().reshape(-1)
    return Member(
        name=name,
        dtype=str(array.dtype).removeprefix("torch."),
        shape=tuple(array.shape),
        bytes=array.nbytes,
        storage_bytes=array.untyped_storage().nbytes(),
        numbers=tuple(flat.tolist()) if is_index else (),
        texts=() if is_index else tuple(value_text(value) for value in flat.tolist()),
    )


def value_text(value: Any) -> str:
    """A number as it stands in a cell: 3, 0.25, 3+1j, True."""
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.4g}" if value.imag == 0 else f"{value.real:.4g}{value.imag:+.4g}j"
    return f"{value:.4g}"


def _ask(tensor: torch.Tensor, expression: str) -> Fact:
    try:
        return Fact(expression, str(QUESTIONS[expression](tensor)))
    except Exception as error:
        return Fact(expression, "", said(error))


def same_values(tensor: torch.Tensor, dense: torch.Tensor) -> bool | None:
    """Whether `to_dense()` has exactly the values of `dense`; None when it cannot be converted."""
    try:
        return torch.equal(comparable(tensor.to_dense()), comparable(dense))
    except (RuntimeError, NotImplementedError):
        return None


def comparable(tensor: torch.Tensor) -> torch.Tensor:
    """In a dtype that every comparison knows, no value changed."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor.to(torch.int64)
