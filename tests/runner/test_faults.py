"""Each way a job can go wrong is told apart, worded, and leaves the engine able to compute."""

from __future__ import annotations

import signal
import time
from typing import get_args

import msgspec
import pytest

from engine.models.spec import LinearStack, ModelSpec
from engine.runner.dispatch import Dispatcher
from engine.runner.faults import Fault, FaultKind, size
from pages.shared.jobs import FAULT_TITLES
from tests.runner.misbehaving import spec as misbehaving
from tests.runner.misbehaving.spec import (
    AnswerSpec,
    BurnSpec,
    EchoSpec,
    EndSpec,
    HoardSpec,
    PricedSpec,
    RaiseSpec,
    StuckSpec,
)


@pytest.fixture(autouse=True)
def _engine_unharmed(engine):
    yield
    text = f"after {time.monotonic()}"
    assert engine.submit(EchoSpec(text=text)).result().text == text


def test_stopped_at_the_wall_limit(engine):
    hows = ("python_loop", "torch_loop", "one_torch_call", "ignores_sigterm")
    jobs = [engine.submit(StuckSpec(how=how), fresh=True) for how in hows]
    for job in jobs:
        with pytest.raises(Fault) as caught:
            job.result()
        assert caught.value.kind == "timeout"
        assert "limit of 1 s" in caught.value.report.what
        assert job.elapsed_s >= 1.0


def test_stopped_at_the_cpu_limit(fault_of):
    report = fault_of(BurnSpec())
    assert report.kind == "cpu"
    assert "limit of 1 s" in report.what


@pytest.mark.parametrize(("how", "number"), [("segfault", signal.SIGSEGV), ("abort", signal.SIGABRT)])
def test_a_crash_names_its_signal_and_shows_the_python_line(fault_of, how, number):
    report = fault_of(EndSpec(how=how))
    assert report.kind == "crash"
    assert number.name in report.what
    assert "experiment.py" in report.detail


def test_a_crash_close_to_the_limit_is_told_as_memory_whatever_started_the_engine(forking):
    """ru_maxrss is inherited over exec: a large app must not hide what a worker used."""
    large = bytearray(b"x" * (600 << 20))
    engine = Dispatcher(type(forking._backend)(), workers=1)
    try:
        engine.submit(EchoSpec()).result()
        with pytest.raises(Fault) as caught:
            engine.submit(EndSpec(how="segfault_when_full")).result()
    finally:
        engine.stop()
    assert len(large) == 600 << 20
    assert (caught.value.kind, "SIGSEGV" in caught.value.report.detail) == ("memory", True), caught.value.report


def test_a_kill_from_outside_is_a_crash_with_its_signal(fault_of):
    report = fault_of(EndSpec(how="sigkill"))
    assert (report.kind, "SIGKILL" in report.what) == ("crash", True)


@pytest.mark.parametrize("code", [0, 3])
def test_ending_without_a_result_tells_the_exit_code(fault_of, code):
    report = fault_of(EndSpec(how=f"exit_{code}"))
    assert report.kind == "crash"
    assert f"ended without a result, exit code {code}" in report.what


@pytest.mark.parametrize("how", get_args(misbehaving.Hoard))
def test_more_memory_than_the_limit(fault_of, how):
    report = fault_of(HoardSpec(how=how))
    assert report.kind == "memory", report
    assert size(misbehaving.SMALL.memory_bytes) in report.what


TOO_WIDE = ModelSpec(architecture=LinearStack(layers=10, width=4096))
TOO_MANY = ModelSpec(architecture=LinearStack(layers=500, width=128), batch=4096)
TOO_DEEP = ModelSpec(architecture=LinearStack(layers=10, width=2048))  # weights fit, gradients do not


@pytest.mark.parametrize("model", [TOO_WIDE, TOO_MANY, TOO_DEEP], ids=["building", "forward", "backward"])
def test_memory_that_ran_out_in_a_model_is_a_fault_and_not_pytorchs_lesson(fault_of, model):
    report = fault_of(misbehaving.TightGraphSpec(model=model))
    assert report.kind == "memory", report
    assert f"limit of {size(misbehaving.SMALL.memory_bytes)}, and 1.0 MiB had been predicted" in report.what


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1900, 2048, 2100, 2200, 3000, 4096])
def test_a_run_that_just_exceeds_the_limit_never_ends_in_a_crash(engine, batch):
    """Where the last free pages go differs: also to the stack, which has grown before."""
    model = ModelSpec(architecture=LinearStack(layers=500, width=64), batch=batch)
    job = engine.submit(misbehaving.TightGraphSpec(model=model), fresh=True)
    try:
        told = str(job.result().error)
    except Fault as fault:
        told = fault.report.what
    assert told == "None" or told.startswith("Out of memory"), told


def test_memory_below_the_limit_is_fine(engine):
    assert engine.submit(HoardSpec(size_bytes=64 << 20), fresh=True).result().text == str(16 << 20)


def test_pytorchs_error_keeps_type_and_text(fault_of):
    report = fault_of(RaiseSpec(how="torch"))
    assert report.kind == "torch_error"
    assert report.what == "PyTorch raised RuntimeError."
    assert "raise_it" in report.traceback
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" in report.detail


@pytest.mark.parametrize("how", get_args(misbehaving.Raise))
def test_every_exception_becomes_a_fault(fault_of, how):
    report = fault_of(RaiseSpec(how=how))
    assert report.kind == ("too_much" if how == "fault" else "torch_error")
    assert len(report.detail) <= 4000


@pytest.mark.parametrize("how", ["none", "tensor", "lambda", "other_result", "garbage_frame"])
def test_what_is_not_the_declared_result_is_refused(fault_of, how):
    report = fault_of(AnswerSpec(how=how))
    assert report.kind == "crash"
    assert "not the result" in report.what


@pytest.mark.parametrize("how", ["too_big", "huge_frame", "large_file"])
def test_larger_than_its_cap(fault_of, how):
    report = fault_of(AnswerSpec(how=how))
    assert report.kind == "too_big"
    assert size(misbehaving.SMALL.result_bytes) in report.what


def test_a_fault_that_an_experiment_raises_is_handed_over_as_it_is(fault_of):
    report = fault_of(RaiseSpec(how="fault"))
    assert (report.kind, report.detail) == ("too_much", "")
    assert (report.what, report.remedy) == ("200,000 events; the limit is 100,000.", "Record less.")
    assert FAULT_TITLES.keys() == set(get_args(FaultKind))


def test_priced_above_the_memory_limit_is_not_started(fault_of):
    report = fault_of(PricedSpec(price_bytes=misbehaving.SMALL.memory_bytes + 1))
    assert report.kind == "refused"
    assert size(misbehaving.SMALL.memory_bytes) in report.what
    assert "estimated" in report.what
    assert "Reduce" in report.remedy


def test_priced_at_the_memory_limit_runs(engine):
    assert engine.submit(PricedSpec(price_bytes=misbehaving.SMALL.memory_bytes)).result().text == "ran"


def test_a_spec_invalid_on_arrival(fault_of):
    spec = EchoSpec()
    msgspec.structs.force_setattr(spec, "size", 11)  # past the check a constructor makes
    report = fault_of(spec)
    assert report.kind == "invalid"
    assert "size" in report.detail


def test_a_spec_class_outside_the_engine_is_not_computed(fault_of):
    class LocalSpec(EchoSpec, frozen=True, kw_only=True):
        pass

    LocalSpec.__module__ = "os.path"
    report = fault_of(LocalSpec())
    assert report.kind == "invalid"
    assert "not a spec of the engine" in report.detail
