"""One large image: bytes of its storage as allocated, as a permuted view, and as a contiguous copy."""

from __future__ import annotations

import torch

from engine.claims.counting import Calls


def counts(height: int, width: int, channels: int) -> dict[str, float]:
    """Bytes on the meta device, where sizes are computed and nothing is allocated."""
    image = torch.empty(1, channels, height, width, device="meta")
    transposed, permuted = image.transpose(2, 3), image.permute(0, 1, 3, 2)
    copied = transposed.contiguous()
    return {
        "image bytes": image.untyped_storage().nbytes(),
        "extra bytes of a transposed view": extra_bytes(transposed, image),
        "extra bytes of .contiguous()": extra_bytes(copied, image),
        "transposed.is_contiguous()": transposed.is_contiguous(),
        "permuted.is_contiguous()": permuted.is_contiguous(),
        "permute and transpose differ": transposed.stride() != permuted.stride(),
    }


def extra_bytes(made: torch.Tensor, image: torch.Tensor) -> int:
    """Bytes of the storage of `made`; none where it is the image's own: meta tensors have no address to compare."""
    storage = made.untyped_storage()
    return 0 if storage is image.untyped_storage() else storage.nbytes()


def calls(height: int, width: int, channels: int) -> Calls:
    """view() of the transposed image, and what the article advises instead."""
    transposed = torch.empty(1, channels, height, width, device="meta").transpose(2, 3)
    permuted = torch.empty(1, channels, height, width, device="meta").permute(0, 1, 3, 2)
    return {
        "image.transpose(2, 3).view(-1)": lambda: transposed.view(-1),
        "image.permute(0, 1, 3, 2).view(-1)": lambda: permuted.view(-1),
        "image.transpose(2, 3).contiguous().view(-1)": lambda: transposed.contiguous().view(-1),
    }
