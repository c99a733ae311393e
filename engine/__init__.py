"""Torch Atlas' engine: `run(spec)` computes a spec in a worker process; specs and results need no torch."""

from engine.runner import (
    EngineStatus,
    Fault,
    FaultReport,
    Job,
    Result,
    Spec,
    engine_status,
    run,
    start_engine,
    stop_engine,
    submit,
)

__all__ = [
    "EngineStatus",
    "Fault",
    "FaultReport",
    "Job",
    "Result",
    "Spec",
    "engine_status",
    "run",
    "start_engine",
    "stop_engine",
    "submit",
]
