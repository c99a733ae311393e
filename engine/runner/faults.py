"""Faults of a job, typed and worded for the person who started it."""

from __future__ import annotations

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
    "cancelled",
    "torch_error",
    "queue_full",
    "engine_down",
]


class FaultReport(msgspec.Struct, frozen=True, kw_only=True):
    """A fault as data: what happened, what to do next, and the original text where there is one."""

    kind: FaultKind
    what: str
    remedy: str
    detail: str = ""


class Fault(Exception):
    """Raised by `run` when a job did not return a result."""

    def __init__(self, report: FaultReport) -> None:
        super().__init__(f"{report.what} {report.remedy}".strip())
        self.report = report

    @property
    def kind(self) -> FaultKind:
        return self.report.kind
