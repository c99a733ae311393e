"""The same faults and promises with spawned workers, the way of macOS and Windows."""

from __future__ import annotations

import sys
import time

import pytest

from engine.runner.dispatch import Dispatcher
from engine.runner.faults import Fault
from engine.runner.spares import SpawnBackend
from tests.runner.misbehaving.spec import (
    AnswerSpec,
    AttemptSpec,
    BurnSpec,
    EchoSpec,
    EndSpec,
    HoardSpec,
    NoisySpec,
    PricedSpec,
    ProgressSpec,
    RaiseSpec,
    SleepSpec,
    StateSpec,
    StuckSpec,
    ThreadsSpec,
)
from tests.runner.test_jobs import follow_step_by_step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def spawning(_misbehaving_specs_allowed):
    engine = Dispatcher(SpawnBackend(), workers=2)
    assert engine.submit(EchoSpec(text="first")).result().text == "first"
    yield engine
    engine.stop()


@pytest.mark.parametrize(
    ("spec", "kind", "said"),
    [
        (StuckSpec(how="python_loop"), "timeout", "1 s"),
        (StuckSpec(how="ignores_sigterm"), "timeout", "1 s"),
        (StuckSpec(how="one_torch_call"), "timeout", "1 s"),
        (BurnSpec(), "cpu", "1 s"),
        (EndSpec(how="segfault"), "crash", "SIGSEGV"),
        (EndSpec(how="abort"), "crash", "SIGABRT"),
        (EndSpec(how="exit_0"), "crash", "exit code 0"),
        (HoardSpec(how="torch_tensor"), "memory", "256.0 MiB"),
        (RaiseSpec(how="torch"), "torch_error", "RuntimeError"),
        (RaiseSpec(how="str_raises"), "torch_error", "_StrRaises"),
        (RaiseSpec(how="system_exit"), "torch_error", "SystemExit"),
        (AnswerSpec(how="too_big"), "too_big", "1.0 MiB"),
        (AnswerSpec(how="garbage_frame"), "crash", "not the result"),
        (PricedSpec(price_bytes=1 << 40), "refused", "1.0 TiB"),
    ],
    ids=lambda value: getattr(value, "how", None),
)
@pytest.mark.skipif(sys.platform != "linux", reason="signals and address-space limits are Linux's here")
def test_each_fault_is_told_apart(spawning, spec, kind, said):
    with pytest.raises(Fault) as caught:
        spawning.submit(spec, fresh=True).result()
    assert caught.value.kind == kind
    assert said in caught.value.report.what


def test_results_equal_those_of_forked_workers(spawning, forking):
    specs = [StateSpec(), NoisySpec(seed=5, dtype="float64"), NoisySpec(seed=6, anomaly=True), ThreadsSpec()]
    jobs = [spawning.submit(spec, fresh=True) for spec in specs]
    assert [job.result() for job in jobs] == [forking.submit(spec, fresh=True).result() for spec in specs]


def test_progress_cancel_and_cache(spawning, tmp_path):
    job = spawning.submit(ProgressSpec(steps=2, gates=str(tmp_path)), fresh=True)
    assert [stage for stage, _ in follow_step_by_step(job) if stage.startswith("step")] == ["step 0", "step 1"]
    assert spawning.submit(job.spec).state == "done"
    job = spawning.submit(SleepSpec(seconds=19), fresh=True)
    while job.stage != "sleeping":
        time.sleep(0.01)
    job.cancel()
    with pytest.raises(Fault) as caught:
        job.result()
    assert caught.value.kind == "cancelled"


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
def test_the_sandbox_is_the_same(spawning, tmp_path):
    assert spawning.submit(AttemptSpec(what="temporary_file"), fresh=True).result().text == "done True"
    for what in ("write_outside", "exec", "udp"):
        answer = spawning.submit(AttemptSpec(what=what, target=str(tmp_path / "new")), fresh=True).result()
        assert answer.text == "denied PermissionError"
