"""Read what this machine, this PyTorch and this worker's sandbox can do, by trying it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

from engine.machine.compiler import find_compiler
from engine.machine.devices import find_devices
from engine.machine.operators import find_operators
from engine.machine.spec import Capability, Machine, MachineSpec
from engine.runner.confine import applied_features
from engine.runner.contract import ProgressSink
from engine.runner.faults import error_text

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_AUTOCAST_DTYPES = (torch.bfloat16, torch.float16)


def inspect_machine(spec: MachineSpec, progress: ProgressSink) -> Machine:
    """Every fact is read or tried here and now; nothing is assumed from a version number."""
    progress("Reading devices", 0.1)
    devices = find_devices()
    progress("Trying autocast", 0.4)
    autocast = tuple(_try_autocast(dtype) for dtype in _AUTOCAST_DTYPES)
    progress("Asking the compiler", 0.7)
    return Machine(
        torch_version=str(torch.__version__),
        python_version=platform.python_version(),
        platform=f"{platform.system()} {platform.release()}, {platform.machine()}",
        cpu=_cpu_name(),
        cores=_cores(),
        threads=torch.get_num_threads(),
        memory_bytes=_memory_bytes(),
        devices=devices,
        autocast=autocast,
        compiler=find_compiler(),
        operators=find_operators(),
        sandbox=_sandbox(),
    )


def _try_autocast(dtype: torch.dtype) -> Capability:
    """One 2 x 2 matmul on the CPU under autocast; it is there when the product comes back in `dtype`."""
    name = str(dtype).removeprefix("torch.")
    ones = torch.ones(2, 2)
    try:
        with torch.autocast("cpu", dtype=dtype):
            product = ones @ ones
    except RuntimeError as error:
        return Capability(name=name, available=False, detail=error_text(error))
    given = str(product.dtype).removeprefix("torch.")
    right = product.dtype == dtype and bool((product == 2).all())
    return Capability(name=name, available=right, detail=f"a float32 matmul under CPU autocast returned {given}")


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    capability = torch.backends.cpu.get_cpu_capability()
    return f"{named[0] if named else platform.processor() or platform.machine()} ({capability})"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_bytes() -> int:
    try:
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        return min(installed, int(_CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # no control group, or "max"
        return installed


def _sandbox() -> tuple[Capability, ...]:
    features = applied_features()
    if not features:
        return (Capability(name="sandbox", available=False, detail="computed inline, in the caller's own process"),)
    return tuple(Capability(name=name, available=applied, detail=detail) for name, applied, detail in features)
