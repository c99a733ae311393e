"""Private torch names that only the page on mixed precision needs (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from engine import recorded

AUTOCAST_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "mps": "AutocastMPS"}
"""The dispatch key under which a device's autocast kernels are registered."""

cast_operator: Any = torch.ops.aten._to_copy.default
"""The operator behind every cast: `Tensor.to` decomposes into it."""
cast_operators: frozenset[Any] = frozenset(
    [cast_operator, *(getattr(torch.ops.aten.to, name) for name in ("dtype", "dtype_layout", "device", "other"))]
)
"""With `Tensor.to` itself, which is not taken apart under inference_mode."""

without_modes: Callable[[], Any] = _disable_current_modes
"""Context in which no dispatch mode sees anything."""

_read_inputs = attrgetter("extra_fields.inputs")


def autocast_operators(device: str) -> frozenset[str]:
    """Names of PyTorch's own operators with an autocast kernel for `device`, as the dispatcher lists them."""
    names = torch._C._dispatch_get_registrations_for_dispatch_key(AUTOCAST_KEYS[device])
    return frozenset(name for name in names if name.startswith("aten::"))


def operator_named(name: str) -> Any:
    """The overload that the dispatcher calls by this name: "aten::conv2d.padding"."""
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")


def required_arguments(operator: Any) -> tuple[tuple[str, str, bool], ...]:
    """(name, type, whether it is passed by name) of the arguments of an operator that have no default."""
    return tuple(
        (one.name, str(one.type), one.kwarg_only)
        for one in recorded.read_arguments(operator)
        if not one.has_default_value()
    )


def event_dtypes(event: Any) -> tuple[str, ...]:
    """The dtypes of the tensors that a profiled operator was called with, those in lists too."""
    try:
        inputs = _read_inputs(event)
    except AttributeError:
        return ()
    found: list[str] = []
    for one in inputs:
        for part in one if isinstance(one, list) else (one,):
            dtype = getattr(part, "dtype", None)
            if dtype is not None:
                found.append(str(dtype).removeprefix("torch."))
    return tuple(found)


def processor_support() -> tuple[tuple[str, bool | str], ...]:
    """What of this processor decides how fast 16-bit matrix products are, by the name that asks for it."""
    found: list[tuple[str, bool | str]] = [
        ("torch.backends.cpu.get_cpu_capability()", torch.backends.cpu.get_cpu_capability()),
        ("torch.backends.mkldnn.is_available()", torch.backends.mkldnn.is_available()),  # type: ignore[no-untyped-call]
    ]
    for dtype in ("bf16", "fp16"):
        name = f"_is_mkldnn_{dtype}_supported"
        found.append((f"torch.ops.mkldnn.{name}()", bool(getattr(torch.ops.mkldnn, name)())))
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported", "_is_amx_fp16_supported"):
        if hasattr(torch.cpu, name):
            found.append((f"torch.cpu.{name}()", bool(getattr(torch.cpu, name)())))
    return tuple(found)
