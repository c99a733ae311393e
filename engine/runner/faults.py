"""Faults of a job, typed and worded for the person who started it."""

from __future__ import annotations

import errno
import re
import signal
import traceback
from typing import Literal

import msgspec

FaultKind = Literal[
    "refused",
    "invalid",
    "timeout",
    "cpu",
    "memory",
    "crash",
    "too_big",
    "too_much",
    "cancelled",
    "torch_error",
    "queue_full",
    "engine_down",
]

_TEXT_LIMIT = 4000
"""Characters of an original error text that are kept; PyTorch's longest are about 2,000."""


_MEMORY_MARKS = ("can't allocate memory", "std::bad_alloc", "not enough memory", "Cannot allocate memory")
_CPP_FRAMES = re.compile(
    r"(?:\A|\n{1,2})(?:Exception raised from .*|C\+\+ CapturedTraceback:)"
    r"(?:\n(?:frame #\d+:|#\d+ |<omitting python frames>).*)*(?:\n\Z)?"
)
_DISPATCH_TABLE = re.compile(r"\n*(?:\n\w+: (?:fallthrough )?registered at .*)+\n?")


class FaultReport(msgspec.Struct, frozen=True, kw_only=True):
    """A fault as data: what happened, what to do next, and the original text where there is one.

    `traceback` is for whoever mends an experiment: where the exception came from.
    """

    kind: FaultKind
    what: str
    remedy: str
    detail: str = ""
    traceback: str = ""


class Fault(Exception):
    """Raised by `run` when a job did not return a result."""

    def __init__(self, report: FaultReport) -> None:
        super().__init__(" ".join(part for part in (report.what, report.detail, report.remedy) if part))
        self.report = report

    def __reduce__(self) -> tuple[type[Fault], tuple[FaultReport]]:
        return Fault, (self.report,)

    @property
    def kind(self) -> FaultKind:
        return self.report.kind


def refused(predicted_bytes: int, limit_bytes: int, what: str, remedy: str = "") -> FaultReport:
    return FaultReport(
        kind="refused",
        what=f"Not started: it would need about {size(predicted_bytes)} and the limit is {size(limit_bytes)} "
        f"(estimated, {predicted_bytes} bytes: {what}).",
        remedy=remedy or "Reduce the batch, the width or the number of layers and run again.",
    )


def invalid(text: str) -> FaultReport:
    return FaultReport(
        kind="invalid", what="These settings cannot be computed.", remedy="Change them and run again.", detail=text
    )


def timeout(limit_s: float) -> FaultReport:
    return FaultReport(
        kind="timeout",
        what=f"Stopped: it ran longer than its limit of {limit_s:g} s.",
        remedy="Make the model or the input smaller, or ask for less of it.",
    )


def cpu(limit_s: int) -> FaultReport:
    return FaultReport(
        kind="cpu",
        what=f"Stopped: it used more than its limit of {limit_s} s of processor time.",
        remedy="Make the model or the input smaller, or use fewer threads.",
    )


def memory(limit_bytes: int, text: str, predicted_bytes: int | None = None) -> FaultReport:
    predicted = "" if predicted_bytes is None else f", and {size(predicted_bytes)} had been predicted"
    return FaultReport(
        kind="memory",
        what=f"Out of memory: it asked for more than its limit of {size(limit_bytes)}{predicted}.",
        remedy="Reduce the batch, the width or the number of layers; checkpointing also lowers the peak.",
        detail=clip(text),
    )


def crash_signal(number: int, output: str) -> FaultReport:
    return FaultReport(
        kind="crash",
        what=f"The worker process was ended by {signal_name(number)}.",
        remedy="Nothing else is affected; run again, and report it if it repeats.",
        detail=clip(output),
    )


def crash_exit(code: int, output: str) -> FaultReport:
    return FaultReport(
        kind="crash",
        what=f"The worker process ended without a result, exit code {code}.",
        remedy="Nothing else is affected; run again, and report it if it repeats.",
        detail=clip(output),
    )


def bad_result(text: str) -> FaultReport:
    return FaultReport(
        kind="crash",
        what="The worker process returned something that is not the result this spec declares.",
        remedy="This is an error of the experiment; please report it.",
        detail=clip(text),
    )


def too_big(received_bytes: int | None, cap_bytes: int, thing: str = "result") -> FaultReport:
    received = f"{size(received_bytes)}, {received_bytes} bytes" if received_bytes is not None else "more"
    return FaultReport(
        kind="too_big",
        what=f"The {thing} is larger than its cap of {size(cap_bytes)} ({received}).",
        remedy="Ask for less: a smaller model, fewer steps or fewer samples.",
    )


def too_much(what: str, remedy: str) -> FaultReport:
    """What an experiment raises, in a Fault, when it has recorded more than it could read in time."""
    return FaultReport(kind="too_much", what=what, remedy=remedy)


def check_operations(so_far: int, limit: int) -> None:
    """Raise a Fault once a run that notes every operation has noted more than it can read in time."""
    if so_far > limit:
        raise Fault(
            too_much(
                f"This model runs more than {limit:,} operations, each of which would be noted several times over; the "
                f"limit here is {limit:,}.",
                "Use fewer steps, layers or operations.",
            )
        )


def cancelled() -> FaultReport:
    return FaultReport(kind="cancelled", what="Stopped on request.", remedy="Run again to compute it.")


def torch_error(error: BaseException) -> FaultReport:
    """The original type and text, even of an exception whose `__str__` raises."""
    who = "PyTorch" if isinstance(error, RuntimeError) else "Computing it"
    return FaultReport(
        kind="torch_error",
        what=f"{who} raised {type(error).__name__}.",
        remedy="The original text says what it could not do; change the settings it names.",
        detail=clip(error_text(error)),
        traceback=clip("".join(traceback.format_tb(error.__traceback__))),
    )


def queue_full(length: int) -> FaultReport:
    return FaultReport(
        kind="queue_full",
        what=f"Not started: {length} jobs are already waiting, which is the most that may wait.",
        remedy="Wait for some to finish or stop them, then run again.",
    )


def engine_down(text: str, output: str = "") -> FaultReport:
    return FaultReport(
        kind="engine_down",
        what=f"The engine process is not running: {text}.",
        remedy="It restarts with the next job; run again.",
        detail=clip(output),
    )


def is_memory_error(error: BaseException) -> bool:
    """True for each way Python and PyTorch say that memory ran out.

    An experiment that keeps PyTorch's errors as the lesson lets these through: they are the limit's, not the lesson.
    """
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    text = error_text(error)
    return isinstance(error, RuntimeError) and any(mark in text for mark in _MEMORY_MARKS)


def error_text(error: BaseException) -> str:
    """The original text without what some of PyTorch's carry: C++ frames, and where every kernel was registered.

    Both are addresses and paths, different on every machine.
    """
    try:
        return _DISPATCH_TABLE.sub("", _CPP_FRAMES.sub("", str(error)))
    except BaseException as second:
        return f"(the text of this error could not be read: {type(second).__name__})"


def clip(text: str) -> str:
    """At most `_TEXT_LIMIT` characters, of which the encoder can take each."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 2] + " …"


def size(count_bytes: int | float) -> str:
    """Bytes in words, binary units."""
    value = float(count_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
