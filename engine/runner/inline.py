"""Compute a spec in this process, leaving torch as the caller had it. The one module of the runner's app side that
imports torch; `run(spec, inline=True)` imports it when asked.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator

import torch

from engine.runner.contract import ProgressSink, Spec
from engine.runner.faults import Fault, FaultReport
from engine.runner.job import T
from engine.runner.worker import compute_priced, fault_of


def run_inline(spec: Spec[T], on_progress: ProgressSink | None) -> T:
    """The result of `spec`; raises Fault from what the verb raised. Ctrl-C goes through."""
    with _as_in_a_fresh_worker(spec.limits.threads):
        try:
            result = compute_priced(spec, on_progress or (lambda stage, fraction: None))
        except Exception as error:
            raise Fault(fault_of(error, spec)) from error
    if isinstance(result, FaultReport):
        raise Fault(result)
    return result  # type: ignore[return-value]  # compute_priced checked it against spec.result


@contextlib.contextmanager
def _as_in_a_fresh_worker(threads: int) -> Iterator[None]:
    """torch's state as a worker starts with it, and afterwards the caller's again."""
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        stack.callback(
            torch.use_deterministic_algorithms,
            torch.are_deterministic_algorithms_enabled(),
            warn_only=torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        stack.callback(random.setstate, random.getstate())
        _keep_other_generators(stack)
        _leave_autocast(stack)
        torch.set_num_threads(threads)
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")
        torch.use_deterministic_algorithms(False)
        for mode in (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autograd.set_detect_anomaly(False),
        ):
            stack.enter_context(mode)
        yield


def _leave_autocast(stack: contextlib.ExitStack) -> None:
    """Also out of its nesting: inside an outer `with autocast`, PyTorch keeps the cast weights of inner ones."""
    stack.callback(torch.set_autocast_enabled, "cpu", torch.is_autocast_enabled("cpu"))
    torch.set_autocast_enabled("cpu", False)
    for _ in range(torch.autocast_increment_nesting()):
        torch.autocast_decrement_nesting()
        stack.callback(torch.autocast_increment_nesting)
    stack.callback(torch.autocast_decrement_nesting)
    torch.clear_autocast_cache()


def _keep_other_generators(stack: contextlib.ExitStack) -> None:
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        stack.callback(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())
    if numpy := sys.modules.get("numpy"):
        stack.callback(numpy.random.set_state, numpy.random.get_state())
