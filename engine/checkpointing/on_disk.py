"""Saved tensors written to files and read back when backward asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine import recorded
from engine.runner.contract import Limits
from engine.runner.faults import size


class OnDisk:
    """Hooks that keep saved tensors in files below `folder`; `resident` storages stay in memory, moving frees nothing.

    Hooks see tensors, not storages: one that two nodes save is written twice. A file goes when its node lets go of it.
    """

    def __init__(self, folder: Path, resident: frozenset[int], limit_bytes: int = Limits().file_bytes) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        self.written_bytes = 0
        self.present_bytes = 0
        self._resident = resident
        self._count = 0

    def pack(self, tensor: torch.Tensor) -> Any:
        """The tensor itself, or what stands for its file. OSError when files would hold more than `limit_bytes`."""
        storages = recorded.storages_of(tensor)
        if (
            len(storages) != 1
            or storages[0][0] in self._resident
            or not tensor.numel()
            or tensor.layout != torch.strided
        ):
            return tensor
        return self._write(tensor)

    def unpack(self, packed: Any) -> torch.Tensor:
        """The tensor again, laid out as it was."""
        return packed.read() if isinstance(packed, InFile) else packed

    def _write(self, tensor: torch.Tensor) -> InFile:
        span = 1 + sum((length - 1) * step for length, step in zip(tensor.shape, tensor.stride(), strict=True))
        nbytes = span * tensor.element_size()
        if self.present_bytes + nbytes > self.limit_bytes:
            raise OSError(
                f"save_on_disk: files of saved tensors may hold {size(self.limit_bytes)}; they hold "
                f"{size(self.present_bytes)} and the next one needs {size(nbytes)}. Make the batch smaller."
            )
        self._count += 1
        return InFile(self, self.folder / f"{self._count}.saved", tensor, span)


class InFile:
    """One saved tensor in a file, from the first to the last element it reaches; removes the file when it goes."""

    def __init__(self, disk: OnDisk, path: Path, tensor: torch.Tensor, span: int) -> None:
        flat = tensor.detach().as_strided((span,), (1,))
        flat.view(torch.uint8).cpu().numpy().tofile(path)
        self.nbytes = flat.nbytes
        self._layout = tensor.shape, tensor.stride()
        self._dtype, self._device = tensor.dtype, tensor.device
        self._disk, self._path = disk, path
        disk.written_bytes += self.nbytes
        disk.present_bytes += self.nbytes

    def read(self) -> torch.Tensor:
        """A new tensor with the same bytes, shape and strides."""
        flat = torch.from_numpy(np.fromfile(self._path, dtype=np.uint8)).view(self._dtype)
        return flat.as_strided(*self._layout).to(self._device)

    def __del__(self) -> None:
        if hasattr(self, "_path"):
            self._disk.present_bytes -= self.nbytes
            self._path.unlink(missing_ok=True)
