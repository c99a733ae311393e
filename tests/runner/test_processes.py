"""Lives and deaths of the processes: server killed, app killed, nothing left behind, torch never in the app."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.runner.dispatch import Dispatcher
from engine.runner.faults import Fault
from engine.runner.forked import _Server
from engine.runner.runtime import runtime_folder
from tests.runner.misbehaving.spec import EchoSpec, SleepSpec, StuckProcessesSpec, StuckSpec

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc; the fork server is for Linux")
ROOT = Path(__file__).parents[2]


def _run(program, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def _is_gone(pid, limit_s=60.0):
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def _children_of(pid):
    """Of all its threads: the kernel lists a child under the thread that started it."""
    lists = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for children in lists for child in children]


def _server_folders():
    return len(list((runtime_folder() / "servers").iterdir()))


@linux
@pytest.mark.slow
def test_the_next_job_restarts_a_server_killed_while_idle(own):
    before, folders = own.status(), _server_folders()
    os.kill(before.pid, signal.SIGKILL)
    assert own.submit(EchoSpec(text="again"), fresh=True).result().text == "again"
    _assert_restarted(own, before, folders)


def _assert_restarted(engine, before, folders):
    after = engine.status()
    assert after.alive
    assert after.pid != before.pid
    assert after.restarts == before.restarts + 1
    assert _server_folders() == folders  # the next server removes what a killed one left


@linux
@pytest.mark.slow
def test_a_server_whose_death_is_noticed_late_is_not_asked_again(own, monkeypatch):
    """On a busy machine: the thread that listens to it comes too late for the next job."""
    before, died = own.status(), _Server._has_died

    def notice_late(server):
        time.sleep(0.3)
        died(server)

    monkeypatch.setattr(_Server, "_has_died", notice_late)
    os.kill(before.pid, signal.SIGKILL)
    assert _is_gone(before.pid)
    assert own.submit(EchoSpec(text="again"), fresh=True).result().text == "again"
    assert own.status().restarts == before.restarts + 1


@linux
@pytest.mark.slow
def test_a_server_killed_while_jobs_run_is_told_and_takes_the_workers_along(forking):
    jobs = [forking.submit(SleepSpec(seconds=15, number=i), fresh=True) for i in range(4)]  # all four workers
    queued = forking.submit(EchoSpec(text="later"), fresh=True)
    for job in jobs:
        while job.stage != "sleeping":
            time.sleep(0.005)
    before, folders = forking.status(), _server_folders()
    workers = _children_of(before.pid)
    assert len(workers) == 4
    os.kill(before.pid, signal.SIGKILL)
    for job in jobs:
        with pytest.raises(Fault) as caught:
            job.result()
        assert caught.value.kind == "engine_down"
    assert all(_is_gone(pid) for pid in workers)
    assert queued.result().text == "later"
    _assert_restarted(forking, before, folders)


@linux
def test_processes_that_leave_their_group_are_ended_with_the_job(forking):
    job = forking.submit(StuckProcessesSpec(how="leaves_its_group"), fresh=True)
    while not (workers := _children_of(forking.status().pid)) or not (escaped := _children_of(workers[0])):
        time.sleep(0.005)
    job.cancel()
    assert all(_is_gone(pid) for pid in workers + escaped)


@linux
def test_nothing_left_behind_after_many_jobs(forking):
    server = forking.status().pid

    def open_files_once_idle():
        end = time.monotonic() + 60
        while _children_of(server) and time.monotonic() < end:
            time.sleep(0.05)
        assert _children_of(server) == []
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), server)]

    for i in range(5):
        forking.submit(EchoSpec(text=str(i)), fresh=True).result()
    before = open_files_once_idle()
    for i in range(40):
        forking.submit(EchoSpec(text=str(i)), fresh=True).result()
    assert open_files_once_idle() == before


WAITING_APP = (
    "import signal, sys, time; from engine import engine_status, run, submit\n"
    # A test run in the background inherits a SIGINT that is ignored.
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from tests.runner.misbehaving.spec import EchoSpec, SleepSpec\n"
    "text, job = run(EchoSpec(text='hello')).text, submit(SleepSpec(seconds=19))\n"
    "while job.stage != 'sleeping': time.sleep(0.01)\n"
    "imported = sorted({'torch', 'multiprocessing'} & sys.modules.keys())\n"
    "print(engine_status().pid, text, *imported, flush=True); time.sleep(60)"
)


@linux
@pytest.mark.usefixtures("_misbehaving_specs_allowed")
@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(other, marks=pytest.mark.slow) for other in (signal.SIGTERM, signal.SIGINT))],
)
def test_an_app_computes_without_torch_and_takes_server_and_workers_along(number):
    with _run(WAITING_APP) as app:
        server, *said = app.stdout.readline().split()
        assert said == ["hello"]
        server = int(server)
        workers = _children_of(server)
        assert len(workers) == 1
        app.send_signal(number)
        app.wait(60)
    assert _is_gone(server)
    assert _is_gone(workers[0])


@linux
@pytest.mark.slow
@pytest.mark.usefixtures("_misbehaving_specs_allowed")
def test_a_spawned_worker_ends_when_the_app_dies():
    with _run(
        WAITING_APP.replace("engine_status().pid, ", "engine_status().pid or 0, "), TORCH_ATLAS_START_METHOD="spawn"
    ) as app:
        app.stdout.readline()
        processes = _children_of(app.pid)
        assert len(processes) == 3  # one at work, two spare
        app.kill()
        app.wait(60)
    assert all(_is_gone(pid) for pid in processes)


@linux
@pytest.mark.slow
def test_a_server_that_stops_answering_is_replaced(own, monkeypatch):
    monkeypatch.setattr("engine.runner.forked._SERVER_HANG_S", 0.5)
    abandon = _Server.abandon

    def abandon_the_first(server):
        monkeypatch.undo()  # the next may be as slow as this machine is
        abandon(server)

    monkeypatch.setattr(_Server, "abandon", abandon_the_first)
    server = own.status().pid
    os.kill(server, signal.SIGSTOP)
    with pytest.raises(Fault) as caught:
        own.submit(StuckSpec(), fresh=True).result()
    assert caught.value.kind == "timeout"  # of the new server, which was given the job again
    assert _is_gone(server)
    assert own.status().pid != server


@linux
def test_a_server_that_cannot_start_is_told_with_its_output(monkeypatch, tmp_path):
    from engine.runner.forked import ForkBackend

    (tmp_path / "torch.py").write_text("raise ImportError('libtorch is broken here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    engine = Dispatcher(ForkBackend())
    with pytest.raises(Fault) as caught:
        engine.submit(EchoSpec()).result()
    assert caught.value.kind == "engine_down"
    assert "libtorch is broken here" in caught.value.report.detail
    engine.stop()
