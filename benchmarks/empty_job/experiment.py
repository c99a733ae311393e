"""The worker's side of the empty job."""

from __future__ import annotations

from benchmarks.empty_job.spec import EmptySpec, Nothing
from engine.runner.contract import ProgressSink


def return_number(spec: EmptySpec, progress: ProgressSink) -> Nothing:
    """The number that was asked for."""
    return Nothing(number=spec.number)
