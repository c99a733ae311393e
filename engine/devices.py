"""Ask for a device before anything is built on it."""

from __future__ import annotations

import torch


def require_device(device: str, field: str) -> None:
    """Raise ValueError with the reason when torch cannot use `device` here; `field` is the setting that asked."""
    reason = ""
    if device == "cuda" and not torch.cuda.is_available():
        built = "finds no usable GPU" if torch.version.cuda or torch.version.hip else "was built without CUDA"
        reason = f"torch {torch.__version__} {built}"
    if device == "mps" and not torch.backends.mps.is_available():
        reason = f"torch {torch.__version__} finds no Metal device (Apple silicon with macOS 14 or later)"
    if reason:
        raise ValueError(f"{field}: {device!r} is not available here: {reason}. Use 'cpu'.")
