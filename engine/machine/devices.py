"""Which devices PyTorch can use here, and in words why not."""

from __future__ import annotations

import torch

from engine.machine.spec import Device


def find_devices() -> tuple[Device, ...]:
    """cpu, cuda and mps, each present or with the reason it is not."""
    return (Device(kind="cpu", name="CPU", available=True), _find_cuda(), _find_mps())


def _find_cuda() -> Device:
    if torch.version.cuda is None and torch.version.hip is None:
        return _absent("cuda", f"this PyTorch build has no CUDA support ({torch.__version__})")
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        properties = torch.cuda.get_device_properties(0)
    except Exception as error:  # PyTorch's own words; its types differ by cause
        return _absent("cuda", f"built for CUDA {torch.version.cuda}, but: {error}")
    return Device(kind="cuda", name=properties.name, available=True, memory_bytes=properties.total_memory)


def _find_mps() -> Device:
    if not torch.backends.mps.is_built():
        return _absent("mps", f"this PyTorch build has no MPS support ({torch.__version__}); Apple silicon builds have")
    if not torch.backends.mps.is_available():
        return _absent("mps", "built with MPS support, but there is no Apple GPU it can use (macOS 14 or later)")
    return Device(kind="mps", name="Apple GPU", available=True)


def _absent(kind: str, reason: str) -> Device:
    return Device(kind=kind, name=kind.upper(), available=False, reason=reason)
