"""Read what this machine, this PyTorch and this worker's sandbox can do."""

from __future__ import annotations

import platform

import torch

from engine.machine.spec import Capability, Machine, MachineSpec
from engine.runner.confine import applied_features
from engine.runner.contract import ProgressSink


def inspect_machine(spec: MachineSpec, progress: ProgressSink) -> Machine:
    return Machine(
        torch_version=str(torch.__version__),
        python_version=platform.python_version(),
        platform="",
        cpu="",
        cores=0,
        threads=0,
        memory_bytes=0,
        devices=(),
        autocast=(),
        compiler=Capability(name="c", available=False, detail=""),
        operators=Capability(name="c", available=False, detail=""),
        sandbox=tuple(Capability(name=f.name, available=f.applied, detail=f.detail) for f in applied_features()),
    )
