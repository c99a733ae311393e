"""What PyTorch says: in the texts of its errors, and in the names of its saved-tensor hooks."""

from __future__ import annotations

import re
from typing import Any

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


def is_freed(error: Exception) -> bool:
    """Whether PyTorch says that a backward has freed what the node saved."""
    return "already been freed" in str(error)


def versions_in(error: Exception) -> tuple[int, int] | None:
    """(version now, version saved) from PyTorch's in-place error; None for any other error."""
    found = _VERSIONS.search(str(error))
    return (int(found.group(1)), int(found.group(2))) if found else None


def hook_name(unpack_hook: Any) -> str:
    """The name a person knows a saved-tensor hook by: the class or function of torch, else the hook's own."""
    qualified: str = getattr(unpack_hook, "__qualname__", type(unpack_hook).__name__)
    module: str = getattr(unpack_hook, "__module__", "") or ""
    if module.startswith("torch."):
        return qualified.split(".")[0]
    return qualified.rsplit("<locals>.", 1)[-1]


def is_checkpoint_hook(unpack_hook: Any) -> bool:
    """Whether non-reentrant checkpointing keeps a recipe in this slot instead of the tensor."""
    return getattr(unpack_hook, "__module__", "") == "torch.utils.checkpoint"
