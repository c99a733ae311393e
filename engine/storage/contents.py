"""What a storage holds, as text, whatever its dtype."""

from __future__ import annotations

import torch

from engine.storage.spec import StorageContents


def read_contents(tensor: torch.Tensor, storage_id: int, shown_elements: int) -> StorageContents:
    """The whole storage under `tensor` read as its dtype; values are left out above `shown_elements` of them."""
    storage = tensor.untyped_storage()
    elements = storage.nbytes() // tensor.itemsize
    values: tuple[str, ...] = ()
    if 0 < elements <= shown_elements:
        flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        flat.set_(storage, 0, (elements,), (1,))
        values = tuple(map(text_of, flat.tolist()))
    return StorageContents(
        storage_id=storage_id,
        storage_bytes=storage.nbytes(),
        dtype=str(tensor.dtype).removeprefix("torch."),
        itemsize=tensor.itemsize,
        values=values,
    )


def text_of(value: bool | int | float | complex) -> str:
    """A value as a short text: six digits, 2 for 2.0, 1+2j for a complex number."""
    if isinstance(value, complex):
        sign = "" if f"{value.imag:.6g}".startswith("-") else "+"
        return f"{value.real:.6g}{sign}{value.imag:.6g}j"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
