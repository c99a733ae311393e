"""Specs whose verbs misbehave, with limits small enough to wait for."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.graph.spec import GraphSpec
from engine.runner.contract import MEBIBYTE, Limits, Need, Result, Spec

SMALL = Limits(wall_s=20.0, cpu_s=20, memory_bytes=256 * MEBIBYTE, file_bytes=MEBIBYTE, result_bytes=MEBIBYTE)


class Said(Result, frozen=True, kw_only=True):
    text: str = ""
    numbers: tuple[float, ...] = ()
    data: bytes = b""


class _Local(Spec[Said], frozen=True, kw_only=True):
    result: ClassVar[type[Result]] = Said
    limits: ClassVar[Limits] = SMALL


class EchoSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "echo"

    text: str = ""
    size: Annotated[int, Meta(ge=0, le=10)] = 0


class ProgressSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "report_progress"

    steps: int = 3
    gates: str = ""
    """A folder: each step waits there for a file of its name, made by who has heard of it."""


Stuck = Literal["python_loop", "torch_loop", "one_torch_call", "ignores_sigterm", "leaves_its_group"]


class StuckSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "get_stuck"
    limits: ClassVar[Limits] = Limits(wall_s=1.0, cpu_s=20)

    how: Stuck = "python_loop"


class StuckProcessesSpec(StuckSpec, frozen=True, kw_only=True):
    limits: ClassVar[Limits] = Limits(wall_s=20.0, cpu_s=60)
    needs: ClassVar[frozenset[Need]] = frozenset({"processes"})


class AutocastSpec(_Local, frozen=True, kw_only=True):
    """Multiply by a weight under autocast, change it, and multiply again."""

    verb: ClassVar[str] = "autocast_twice"


class TwoPartsSpec(_Local, frozen=True, kw_only=True):
    """Hands over a part, then takes its time and ends as `ends` says."""

    verb: ClassVar[str] = "say_in_two_parts"

    seconds: float = 0.0
    number: int = 0
    whole: bool = True
    ends: Literal["well", "raising", "too_big_part"] = "well"

    @property
    def on_the_way(self) -> TwoPartsSpec | None:
        return msgspec.structs.replace(self, whole=False) if self.whole else None


class SleepSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "sleep"

    seconds: float = 10.0
    number: int = 0


class GatedSpec(_Local, frozen=True, kw_only=True):
    """Runs until the test makes a file at `gate`, however slow the machine is."""

    verb: ClassVar[str] = "wait_at_gate"

    gate: str
    number: int = 0


class MeasuredGatedSpec(GatedSpec, frozen=True, kw_only=True):
    measured: ClassVar[bool] = True


class MeasuredSleepSpec(SleepSpec, frozen=True, kw_only=True):
    measured: ClassVar[bool] = True


class BurnSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "burn"
    limits: ClassVar[Limits] = Limits(wall_s=20.0, cpu_s=1)


End = Literal["segfault", "abort", "exit_0", "exit_3", "sigkill", "cpp_terminate", "segfault_when_full"]


class EndSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "end"

    how: End = "segfault"


Raise = Literal[
    "torch",
    "str_raises",
    "system_exit",
    "keyboard_interrupt",
    "base_exception",
    "long_text",
    "surrogates",
    "value_error",
    "fault",
]


class RaiseSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "raise_it"

    how: Raise = "torch"


Hoard = Literal["torch_tensor", "python_bytes", "numpy_array", "many_small_tensors"]


class HoardSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "hoard"

    how: Hoard = "torch_tensor"
    size_bytes: int = 4 << 30


Answer = Literal["none", "tensor", "lambda", "other_result", "too_big", "large_file", "garbage_frame", "huge_frame"]


class AnswerSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "answer"

    how: Answer = "none"


class NoisySpec(_Local, frozen=True, kw_only=True):
    """Changes every process-wide state of torch and draws random numbers."""

    verb: ClassVar[str] = "be_noisy"

    seed: int = 0
    dtype: Literal["float32", "float64"] = "float32"
    anomaly: bool = False
    pause_s: float = 0.2


class StateSpec(_Local, frozen=True, kw_only=True):
    """Reads the process-wide state of torch and draws unseeded random numbers."""

    verb: ClassVar[str] = "read_state"


class ThreadsSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "multiply_with_threads"
    limits: ClassVar[Limits] = Limits(wall_s=30.0, cpu_s=60, threads=2)


Attempt = Literal[
    "write_outside",
    "remove_outside",
    "write_inside",
    "temporary_file",
    "tcp_connect",
    "udp",
    "fork",
    "exec",
    "thread",
    "signal_parent",
    "torch_compile",
]


class AttemptSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "attempt"

    what: Attempt = "write_outside"
    target: str = ""


class AttemptLoopbackSpec(AttemptSpec, frozen=True, kw_only=True):
    needs: ClassVar[frozenset[Need]] = frozenset({"loopback"})


class AttemptProcessesSpec(AttemptSpec, frozen=True, kw_only=True):
    needs: ClassVar[frozenset[Need]] = frozenset({"processes"})


class AttemptCompilerSpec(AttemptSpec, frozen=True, kw_only=True):
    needs: ClassVar[frozenset[Need]] = frozenset({"compiler"})
    limits: ClassVar[Limits] = Limits(wall_s=240.0, cpu_s=400)


class SandboxSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "read_sandbox"


class TightGraphSpec(GraphSpec, frozen=True, kw_only=True):
    """A graph whose price is below a limit that its run exceeds."""

    limits: ClassVar[Limits] = SMALL


class PricedSpec(_Local, frozen=True, kw_only=True):
    verb: ClassVar[str] = "echo_priced"

    price_bytes: int = 0
