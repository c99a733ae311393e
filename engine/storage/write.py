"""Write in place through the tensor of one step, and see what that did to every other name."""

from __future__ import annotations

import hashlib

import torch

from engine.pytorch_said import PyTorchSaid, attempt, said
from engine.recorded import version_of
from engine.runner.contract import ProgressSink
from engine.storage.addresses import overlapping_places
from engine.storage.apply import apply_step
from engine.storage.build import build_tensor
from engine.storage.inspect import grad_fn_name
from engine.storage.spec import LayoutSpec, NameAfterWrite, WriteReport
from engine.storage.trace import all_warnings, texts_of

State = tuple[bytes, int | None, str | None]
"""Digest of the values, version, grad_fn."""


def trace_write(spec: LayoutSpec, steps: int, progress: ProgressSink) -> WriteReport | None:
    """Build the first `steps` steps again and write through one; None when the step to write through was refused.

    `changed` compares the bytes of every tensor's values before and after, so nan equals itself.
    """
    if spec.write_step > steps:
        return None
    progress("building the chain again to write", 0.8)
    tensors = [build_tensor(spec)]
    with all_warnings():
        for step in spec.steps[:steps]:
            tensors.append(apply_step(tensors[-1], step))
    before = [_state(tensor) for tensor in tensors]
    progress(f"{spec.write} through step {spec.write_step}", 0.9)
    with all_warnings() as caught:
        _, error = attempt(lambda: write(tensors[spec.write_step], spec.write))
        after = [_state(tensor) for tensor in tensors]
        backward_error = None if error else run_backward(tensors[-1])
    return WriteReport(
        step=spec.write_step,
        operation=spec.write,
        error=error,
        names=tuple(_name(i, *states) for i, states in enumerate(zip(before, after, strict=True))),
        warnings=texts_of(caught),
        backward_error=backward_error,
        overlapping=overlapping_places(tuple(tensors[spec.write_step].shape), tensors[spec.write_step].stride()),
    )


def write(tensor: torch.Tensor, operation: str) -> torch.Tensor:
    """`add_(1)`, `mul_(2)` or `zero_()`."""
    if operation == "add_":
        return tensor.add_(1)
    return tensor.mul_(2) if operation == "mul_" else tensor.zero_()


def run_backward(tensor: torch.Tensor) -> PyTorchSaid | None:
    """What `tensor.backward(torch.ones_like(tensor))` says; None without complaint or without grad."""
    try:
        if tensor.requires_grad:
            tensor.backward(torch.ones_like(tensor))  # type: ignore[no-untyped-call]
    except Exception as error:
        return said(error)
    return None


def _state(tensor: torch.Tensor) -> State:
    return values_of(tensor), version_of(tensor), _grad_fn(tensor)


def _grad_fn(tensor: torch.Tensor) -> str | None:
    try:
        return grad_fn_name(tensor)
    except RuntimeError:  # a view among several of a base that changed: it has no grad_fn any more
        return None


def values_of(tensor: torch.Tensor) -> bytes:
    """A digest of the values in logical order, from the bytes of a dense copy that is not kept."""
    resolved = tensor.detach().resolve_conj().resolve_neg()
    dense = resolved.clone(memory_format=torch.contiguous_format).flatten()  # contiguous() keeps odd strides of size 1
    return hashlib.blake2b(dense.view(torch.uint8).cpu().numpy().data).digest()


def _name(step: int, before: State, after: State) -> NameAfterWrite:
    return NameAfterWrite(
        step=step,
        changed=before[0] != after[0],
        version_before=before[1],
        version_after=after[1],
        grad_fn_before=before[2],
        grad_fn_after=after[2],
    )
