"""What it costs to look for a NaN: plain, a look at the end, every operation, anomaly mode."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable

import torch

from engine.diagnostics.activity import Activity
from engine.diagnostics.births import Births
from engine.diagnostics.flow import Flow
from engine.diagnostics.results import DetectorCost
from engine.diagnostics.spec import DetectorSpec
from engine.graph.recording import record_forward
from engine.models.build import Built, build
from engine.pytorch_said import PyTorchSaid, attempt, said
from engine.runner.contract import ProgressSink
from engine.timing.rounds import compare

BUDGET_S = 8.0
INNERMOST = 3
"""Frames of anomaly mode's trace that are shown."""
_OURS = os.path.dirname(os.path.abspath(__file__))
_FRAME = re.compile(r'(?m)^(?=  File ")')
_FOLDERS = re.compile(r'(?<=File ")[^"]*/')


def anomaly_says(loss: Callable[[], torch.Tensor]) -> PyTorchSaid | None:
    """What torch.autograd.detect_anomaly says of a step: its error, then its warning with the forward call's trace."""
    with warnings.catch_warnings(record=True) as caught, torch.autograd.detect_anomaly():
        warnings.simplefilter("always")
        try:
            loss().backward()  # type: ignore[no-untyped-call]
        except Exception as error:
            told = said(error)
            traces = [str(one.message) for one in caught if "Traceback of forward call" in str(one.message)]
            trace = _innermost(traces[0].split(" (Triggered internally")[0]) if traces else ""
            return PyTorchSaid(told.type, f"{told.message}\n\n{trace}".strip())
    return None


def _innermost(trace: str) -> str:
    """The trace without folders, and without the outer frames: those of the process it ran in, and of this package."""
    head, *frames = _FRAME.split(trace)
    ours = [number for number, frame in enumerate(frames) if frame.startswith(f'  File "{_OURS}')]
    frames = frames[ours[-1] + 1 :] if ours else frames
    kept = frames[-INNERMOST:]
    left_out = f"  ... {len(frames) - len(kept)} frames further out\n" if len(frames) > len(kept) else ""
    return _FOLDERS.sub("", head + left_out + "".join(kept)).rstrip()


def any_non_finite(loss: torch.Tensor, gradients: list[torch.Tensor]) -> bool:
    """The cheap look at the end of a step: the loss, and one norm over all gradients (which may overflow itself)."""
    norm = torch.nn.utils.get_total_norm(gradients) if gradients else loss.detach()
    return not bool(torch.isfinite(norm) & torch.isfinite(loss.detach()))


class Detectors:
    """The ways to run one step of a model; gradients are dropped after each."""

    def __init__(self, built: Built) -> None:
        self.built = built
        self.parameters: list[torch.Tensor] = [one for one in built.model.parameters() if one.requires_grad]
        self.operations = 0

    def plain(self) -> None:
        """Forward, loss, backward."""
        self.built.loss(self.built.forward()).backward()  # type: ignore[no-untyped-call]
        self._drop()

    def at_the_end(self) -> None:
        """Plain, then one look at the loss and all gradients; only a bad step is run again to find the origin."""
        loss = self.built.loss(self.built.forward())
        loss.backward()  # type: ignore[no-untyped-call]
        any_non_finite(loss, [one.grad for one in self.parameters if one.grad is not None])
        self._drop()

    def every_operation(self) -> None:
        """As this page finds an origin."""
        flow = Flow(Activity().see)
        births = Births(flow)
        with flow, births, record_forward(self.built.model) as recording:
            flow.recording = recording
            loss = self.built.loss(self.built.forward())
        with births:
            loss.backward()  # type: ignore[no-untyped-call]
        self.operations = births.operations
        self._drop()

    def anomaly(self) -> None:
        """torch.autograd.detect_anomaly with its check for NaN."""
        with torch.autograd.detect_anomaly():
            self.plain()

    def _drop(self) -> None:
        for leaf in (*self.parameters, *self.built.inputs.values()):
            leaf.grad = None


def compare_detectors(spec: DetectorSpec, progress: ProgressSink) -> DetectorCost:
    """Interleaved rounds of all four; an error of the step itself is kept instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ways = Detectors(build(spec.model))
        _, error = attempt(ways.every_operation)
        if error is not None:
            return DetectorCost(comparison=None, nodes=0, operations=0, error=error)
        callables = {
            "plain": ways.plain,
            "look at the end": ways.at_the_end,
            "every operation": ways.every_operation,
            "detect_anomaly": ways.anomaly,
        }
        found = compare(callables, rounds=spec.rounds, budget_s=BUDGET_S, on_progress=progress)
    return DetectorCost(comparison=found, nodes=0, operations=ways.operations)
