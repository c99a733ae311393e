"""The tensor of a LayoutSpec made real, and the end of its chain without any recording."""

from __future__ import annotations

import math
import warnings

import torch

from engine.devices import require_device
from engine.recorded import storage_of
from engine.runner.contract import Price, ProgressSink
from engine.runner.faults import size
from engine.storage.apply import apply_step
from engine.storage.spec import LARGEST_SAVED_BYTES, LayoutSpec

_NATIVE_NORMAL = {"float32", "float64", "complex64", "complex128"}


def build_tensor(spec: LayoutSpec) -> torch.Tensor:
    """The tensor the chain starts from: a leaf, no view, version 0. ValueError when its device is not there."""
    require_device(spec.device, "LayoutSpec.device")
    dtype = getattr(torch, spec.dtype)
    tensor = _filled(spec).to(dtype, copy=True).to(spec.device)
    if spec.memory_format != "contiguous":
        tensor = tensor.to(memory_format=getattr(torch, spec.memory_format))
    return tensor.requires_grad_() if spec.requires_grad else tensor


def _filled(spec: LayoutSpec) -> torch.Tensor:
    """Values in logical order, in a dtype that `spec.dtype` is converted from."""
    dtype = getattr(torch, spec.dtype)
    if spec.fill == "arange":
        return torch.arange(math.prod(spec.shape)).reshape(spec.shape)
    if spec.fill != "normal":
        return torch.full(spec.shape, 1 if spec.fill == "ones" else 0)
    generator = torch.Generator().manual_seed(spec.seed)
    if spec.dtype in _NATIVE_NORMAL:
        return torch.randn(spec.shape, dtype=dtype, generator=generator)
    drawn = torch.randn(spec.shape, generator=generator)
    return drawn if dtype.is_floating_point or dtype.is_complex else (10 * drawn).round().long()


def build_chain(spec: LayoutSpec, progress: ProgressSink) -> torch.Tensor:
    """The end of the chain; raises what PyTorch raises. Nothing is recorded, nothing but the chain kept."""
    progress("building the tensor", 0.0)
    tensor = build_tensor(spec)
    for number, step in enumerate(spec.steps, 1):
        progress(f"step {number}: {step.operation}", number / (len(spec.steps) + 1))
        tensor = apply_step(tensor, step)
    return tensor


def meta_chain(spec: LayoutSpec) -> list[torch.Tensor]:
    """The tensors of the chain on device="meta": shapes and storages without memory, up to a step that is refused."""
    tensors = [torch.empty(spec.shape, dtype=getattr(torch, spec.dtype), device="meta")]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            if spec.memory_format != "contiguous":
                tensors[0] = tensors[0].to(memory_format=getattr(torch, spec.memory_format))
            for step in spec.steps:
                tensors.append(apply_step(tensors[-1], step))
        except (RuntimeError, IndexError, ValueError, TypeError):
            pass  # what is refused needs no memory; the real chain will say so
    return tensors


def price_layout(spec: LayoutSpec) -> Price:
    """Storages of the chain, filling the first, and the copies that `.view` and a write are compared with."""
    tensors = meta_chain(spec)
    held = sum(dict(storage_of(tensor) for tensor in tensors).values())
    filling = 2 * math.prod(spec.shape) * 8
    attempt = view_bytes(tensors[-1]) if spec.view_shape is not None else 0
    saving = min(2 * held, 2 * LARGEST_SAVED_BYTES)
    writing = 0
    if spec.write != "none":
        writing = held + filling + 2 * max(view_bytes(tensor) for tensor in tensors)
    return Price(
        predicted_bytes=max(held + filling, held + attempt + max(writing, saving)),
        what=f"storages of the chain {size(held)}, filling {size(filling)}, reshape tried {size(attempt)}, "
        f"values compared around the write {size(writing)}",
    )


def view_bytes(tensor: torch.Tensor) -> int:
    """numel * itemsize: what a dense copy needs, however little memory the view spans."""
    return tensor.numel() * tensor.itemsize
