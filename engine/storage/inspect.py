"""Read where a tensor's elements lie, each fact from the attribute or method of its name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from engine.recorded import is_view, storage_of, version_of, view_base
from engine.runner.faults import error_text
from engine.shapes import shape_of
from engine.storage.spec import Layout

T = TypeVar("T")

RAGGED = -1
"""Stands for a size that is no plain number: ragged in a nested tensor, symbolic under torch.compile."""


class Known:
    """Tensors and storages seen so far; holds them, so that no identity is given to two of them."""

    def __init__(self) -> None:
        self._tensors: list[torch.Tensor] = []
        self._storages: dict[int, int] = {}
        self._held: list[torch.Tensor] = []

    def add_step(self, tensor: torch.Tensor) -> None:
        """Number a tensor of the chain, from 0."""
        self._tensors.append(tensor)

    def step_of(self, tensor: torch.Tensor | None) -> int | None:
        """The first step whose tensor this is; None for a tensor of no step."""
        return next((i for i, known in enumerate(self._tensors) if known is tensor), None)

    def storage_id(self, tensor: torch.Tensor) -> int:
        """Number of the tensor's storage in order of appearance; raises where there is none."""
        self._held.append(tensor)
        return self._storages.setdefault(storage_of(tensor)[0], len(self._storages))


class _Reader:
    """Reads facts one by one; what PyTorch refuses to say becomes a stand-in, and its words are kept."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.words: list[str] = []

    def ask(self, name: str, read: Callable[[torch.Tensor], T], otherwise: T) -> T:
        try:
            return read(self.tensor)
        except Exception as error:
            text = next(iter(error_text(error).splitlines()), type(error).__name__)
            self.words.append(f"{name}: {text}")
            return otherwise


def inspect_layout(tensor: torch.Tensor, known: Known | None = None) -> Layout:
    """The layout of any tensor; never raises.

    Fields PyTorch refuses (sparse, nested, quantised, fake, functorch tensors) are None or False with its words in
    `unavailable`; sizes that are no plain numbers are -1. Inside a trace `known` numbers storages and bases.
    """
    known = known or Known()
    reader = _Reader(tensor)
    ask = reader.ask
    facts: dict[str, Any] = {
        "shape": _shape(reader),
        "stride": ask("stride()", lambda t: _plain(t.stride()), None),
        "storage_offset": ask("storage_offset()", lambda t: _plain_or_none(t.storage_offset()), None),
        "numel": ask("numel()", lambda t: _number(t.numel()), RAGGED),
        "storage_bytes": ask("untyped_storage()", lambda t: _plain_or_none(storage_of(t)[1]), None),
        "storage_id": ask("", known.storage_id, None),
        "data_ptr_offset_bytes": ask("data_ptr()", _data_ptr_offset, None),
        "is_non_overlapping_and_dense": ask("", _is_non_overlapping_and_dense, False),
        **_contiguity(reader),
        **_autograd(reader, known),
    }
    return Layout(
        dtype=str(tensor.dtype).removeprefix("torch."),
        device=str(tensor.device),
        layout=str(tensor.layout).removeprefix("torch."),
        itemsize=tensor.itemsize,
        view_bytes=max(facts["numel"], 0) * tensor.itemsize,
        unavailable="\n".join(word for word in reader.words if not word.startswith(": ")),
        **facts,
    )


def _contiguity(reader: _Reader) -> dict[str, bool]:
    def ask(name: str) -> bool:
        wanted = getattr(torch, name)
        return reader.ask("is_contiguous()", lambda t: bool(t.is_contiguous(memory_format=wanted)), False)

    found = {"is_contiguous": ask("contiguous_format")}
    words = len(reader.words)
    found |= {f"is_{name}": ask(name) for name in ("channels_last", "channels_last_3d")}
    del reader.words[words:]  # said once is enough
    return found


def _autograd(reader: _Reader, known: Known) -> dict[str, Any]:
    return {
        "is_leaf": reader.ask("is_leaf", lambda t: t.is_leaf, False),
        "requires_grad": reader.ask("requires_grad", lambda t: t.requires_grad, False),
        "grad_fn": reader.ask("grad_fn", grad_fn_name, None),
        "version": version_of(reader.tensor),
        "is_view": reader.ask("_is_view()", is_view, False),
        "base": reader.ask("_base", lambda t: known.step_of(view_base(t)), None),
        "is_conj": reader.ask("is_conj()", lambda t: t.is_conj(), False),
        "is_neg": reader.ask("is_neg()", lambda t: t.is_neg(), False),
    }


def grad_fn_name(tensor: torch.Tensor) -> str | None:
    """Name of `grad_fn` as PyTorch spells it; raises where a base changed under a view that cannot be rebuilt."""
    return None if tensor.grad_fn is None else str(tensor.grad_fn.name())


def _shape(reader: _Reader) -> tuple[int, ...]:
    """Sizes as plain numbers, RAGGED where one is none."""
    plain = reader.ask("", shape_of, None)
    if plain is not None:
        return plain
    return reader.ask("shape", lambda t: tuple(_size(t, dim) for dim in range(t.dim())), ())


def _size(tensor: torch.Tensor, dim: int) -> int:
    try:
        return _number(tensor.size(dim))
    except RuntimeError:
        return RAGGED


def _number(size: Any) -> int:
    """A plain int; RAGGED for a symbolic one, which must not be asked for its value: that would guard on it."""
    return int(size) if isinstance(size, int) else RAGGED


def _plain(stride: Sequence[Any]) -> tuple[int, ...] | None:
    return tuple(map(int, stride)) if all(isinstance(entry, int) for entry in stride) else None


def _plain_or_none(value: Any) -> int | None:
    return int(value) if isinstance(value, int) else None


def _data_ptr_offset(tensor: torch.Tensor) -> int | None:
    """None without an address: no element (PyTorch's is 0 then), or no memory behind the storage (meta, fake)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fake tensor warns that its pointer means nothing
        start, own = tensor.untyped_storage().data_ptr(), tensor.data_ptr()
    return own - start if start and own else None


def _is_non_overlapping_and_dense(tensor: torch.Tensor) -> bool:
    return bool(torch.ops.aten.is_non_overlapping_and_dense(tensor))
