"""What this machine, this PyTorch and this sandbox can do."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from engine.runner.contract import Limits, Need, Result, Spec


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One device kind: present or not, and the reason in words when it is not."""

    kind: str
    name: str
    available: bool
    reason: str = ""
    memory_bytes: int | None = None


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """A feature of the machine or of the sandbox: present or not, with what was found."""

    name: str
    available: bool
    detail: str


class Machine(Result, frozen=True, kw_only=True):
    """Versions, devices and capabilities as read in a worker process.

    `cores` are those this process may use, `memory_bytes` the machine's or the container's limit, 0 when unknown.
    """

    torch_version: str
    python_version: str
    platform: str
    cpu: str
    cores: int
    threads: int
    memory_bytes: int
    devices: tuple[Device, ...]
    autocast: tuple[Capability, ...]
    compiler: Capability
    operators: Capability
    sandbox: tuple[Capability, ...]


class MachineSpec(Spec[Machine], frozen=True, kw_only=True):
    """Read the machine's status; runs the compiler to ask its version and opens the accelerators to ask theirs."""

    verb: ClassVar[str] = "inspect_machine"
    result: ClassVar[type[Result]] = Machine
    needs: ClassVar[frozenset[Need]] = frozenset({"compiler", "accelerator"})
    limits: ClassVar[Limits] = Limits(wall_s=30.0, cpu_s=30)
