"""What `torch.save` writes of a view, and what loading it brings back."""

from __future__ import annotations

import io

import torch

from engine.storage.spec import LARGEST_SAVED_BYTES, SavedFile


def save_and_load(tensor: torch.Tensor) -> SavedFile | None:
    """Really saved to memory and loaded again; None for a storage above `LARGEST_SAVED_BYTES`."""
    if tensor.untyped_storage().nbytes() > LARGEST_SAVED_BYTES:
        return None
    file = io.BytesIO()
    torch.save(tensor.detach(), file)
    size = file.tell()
    file.seek(0)
    loaded = torch.load(file, weights_only=True)
    return SavedFile(size, loaded.storage_offset(), loaded.untyped_storage().nbytes())
