"""The life of one job inside its worker process: read the spec, confine, price, compute, answer."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from engine.operators import library  # now, as it looks for the user's cache: later a worker has a home of its own
from engine.runner import faults
from engine.runner.confine import confine, lift_memory_limit
from engine.runner.contract import Need, Price, ProgressSink, Result, Spec
from engine.runner.faults import Fault, FaultReport
from engine.runner.wire import (
    FAULT,
    ON_THE_WAY,
    PROGRESS,
    REQUEST,
    REQUEST_CAP_BYTES,
    RESULT,
    SMALL_FRAME_BYTES,
    Progress,
    Request,
    find_spec_class,
    read_frame,
    write_frame,
)

_PROGRESS_INTERVAL_S = 0.03


def answer_one(
    read_fd: int, write_fd: int, private: Path, extra: frozenset[str], received: Callable[[], None] = lambda: None
) -> None:
    """Serve the one job whose request arrives on `read_fd`; whatever happens, at most one final frame is written.

    `received` is called once the request is there.
    """
    frame = read_frame(read_fd, {REQUEST: REQUEST_CAP_BYTES})
    if frame is None:
        return
    received()
    kind, data = _answer(frame[1], write_fd, private, extra)
    with contextlib.suppress(BrokenPipeError):
        write_frame(write_fd, kind, data)


def _answer(request: bytes, write_fd: int, private: Path, extra: frozenset[str]) -> tuple[bytes, bytes]:
    spec: Spec[Any] | None = None
    try:
        spec = _decode_spec(request, extra)
        os.chdir(private)
        confine(spec.limits, needs_of(spec), private)
        outcome = _compute(spec, write_fd)
    except BaseException as error:
        lift_memory_limit()
        outcome = fault_of(error, spec)
    if isinstance(outcome, FaultReport):
        return FAULT, msgspec.msgpack.encode(outcome)
    return RESULT, outcome


class _InvalidSpecError(Exception):
    """The request could not be decoded into a spec."""


def _decode_spec(request: bytes, extra: frozenset[str]) -> Spec[Any]:
    try:
        asked = msgspec.msgpack.decode(request, type=Request)
        spec: Spec[Any] = msgspec.msgpack.decode(asked.fields, type=find_spec_class(asked.spec, extra))
    except (ValueError, ImportError) as error:
        raise _InvalidSpecError(faults.error_text(error)) from error
    return spec


def _compute(spec: Spec[Any], write_fd: int) -> bytes | FaultReport:
    progress = _ProgressWriter(write_fd, spec)
    progress("Started", 0.0)
    import torch

    torch.set_num_threads(spec.limits.threads)
    result = compute_priced(spec, progress)
    if isinstance(result, FaultReport):
        return result
    return _encode(result, spec)


def compute_priced(spec: Spec[Any], progress: ProgressSink) -> Result | FaultReport:
    """The verb's result, or the refusal when the experiment's `price` exceeds the spec's memory limit."""
    experiment = import_module(type(spec).__module__.rpartition(".")[0] + ".experiment")
    price = getattr(experiment, "price", None)
    priced: Price | None = price(spec) if price else None
    if priced is not None and priced.predicted_bytes > spec.limits.memory_bytes:
        return faults.refused(priced.predicted_bytes, spec.limits.memory_bytes, priced.what, priced.remedy)
    try:
        result = getattr(experiment, spec.verb)(spec, progress)
    except Exception as error:
        if priced is None or not faults.is_memory_error(error):
            raise
        raise _PricedMemoryError(faults.error_text(error), priced.predicted_bytes) from error
    if not isinstance(result, spec.result):
        return faults.bad_result(f"{spec.verb} returned {type(result).__name__}, not {spec.result.__name__}")
    return result


class _PricedMemoryError(MemoryError):
    """Memory ran out although less had been predicted."""

    def __init__(self, text: str, predicted_bytes: int) -> None:
        super().__init__(text)
        self.predicted_bytes = predicted_bytes


def _encode(result: Result, spec: Spec[Any]) -> bytes | FaultReport:
    try:
        data = msgspec.msgpack.encode(result)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return faults.bad_result(f"{type(error).__name__}: {faults.error_text(error)}")
    cap_bytes = spec.limits.result_bytes
    return data if len(data) <= cap_bytes else faults.too_big(len(data), cap_bytes)


def fault_of(error: BaseException, spec: Spec[Any] | None) -> FaultReport:
    """The fault for an exception that left the verb: the experiment's own, or one worded here."""
    if isinstance(error, Fault):
        return error.report
    if spec is None:
        return faults.invalid(faults.error_text(error.__cause__ or error))
    if faults.is_memory_error(error):
        predicted_bytes = error.predicted_bytes if isinstance(error, _PricedMemoryError) else None
        return faults.memory(spec.limits.memory_bytes, faults.error_text(error), predicted_bytes)
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return faults.too_big(None, spec.limits.file_bytes, "file it wrote")
    return faults.torch_error(error)


def needs_of(spec: Spec[Any]) -> frozenset[Need]:
    """The spec's declared needs, and `accelerator` where it or its model names a device that is not the CPU."""
    accelerated: frozenset[Need] = frozenset({"accelerator"})
    return spec.needs | accelerated if _devices_of(spec) - {"cpu", "meta"} else spec.needs


def _devices_of(value: object) -> set[str]:
    found: set[str] = set()
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            field = getattr(value, name)
            found |= {field} if name == "device" and isinstance(field, str) else _devices_of(field)
    return found


class _ProgressWriter:
    """`progress(stage, fraction)`: every new stage is sent, fractions at most every 30 ms."""

    def __init__(self, fd: int, spec: Spec[Any]) -> None:
        self._fd, self._spec, self._stage, self._sent_s = fd, spec, "", 0.0

    def __call__(self, stage: str, fraction: float) -> None:
        now_s = time.monotonic()
        if stage == self._stage and now_s - self._sent_s < _PROGRESS_INTERVAL_S:
            return
        self._stage, self._sent_s = stage, now_s
        data = msgspec.msgpack.encode(Progress(faults.clip(str(stage)), min(max(float(fraction), 0.0), 1.0)))
        assert len(data) <= SMALL_FRAME_BYTES
        write_frame(self._fd, PROGRESS, data)

    def hand_over(self, result: Result) -> None:
        """What cannot be sent is left out: the whole result that follows says why."""
        encoded = _encode(result, self._spec)
        if isinstance(encoded, bytes):
            write_frame(self._fd, ON_THE_WAY, encoded)


def preload() -> None:
    """Import torch and every experiment, and run one meta op, one backward and each experiment's `warm()`.

    What is read, imported and cached here, a job need not. One OpenMP thread throughout: forking after OpenMP has
    started threads deadlocks. On a CUDA build no backward is run, because it would open the driver here, and a driver
    does not survive a fork.
    """
    import torch

    torch.set_num_threads(1)
    torch.ones(2, device="meta").add(1)
    for name in experiment_modules():
        with _told_if_not_ready(name):
            import_module(name)
    load_operators()
    for kind in Spec.__subclasses__():
        msgspec.msgpack.Decoder(kind)  # msgspec reads the annotations of a class once
    if torch.version.cuda is None:
        # Autograd numbers operations by thread: here a job's first stays number 0, as in a new interpreter.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(_run_backward).result()


def load_operators() -> None:
    """The compiled operators, once they are built. Never the reference: every worker forked later would keep it."""
    from engine.operators.load import is_loaded, load_all

    if not is_loaded() and library.is_built():
        with _told_if_not_ready("engine.operators"):
            load_all()


def _run_backward() -> None:
    import torch

    torch.set_num_threads(1)
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward((x * x).sum())
    for name in experiment_modules():
        if warm := getattr(sys.modules.get(name), "warm", None):
            with _told_if_not_ready(name):
                warm()


@contextlib.contextmanager
def _told_if_not_ready(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        print(f"{name} is not ready: {faults.error_text(error)}", file=sys.stderr)


def experiment_modules() -> list[str]:
    root = Path(__file__).parents[1]
    return [f"engine.{path.parent.name}.experiment" for path in sorted(root.glob("*/experiment.py"))]
