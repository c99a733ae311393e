"""What the sandbox reports as in force is in force, and a declared need widens that and no more."""

from __future__ import annotations

import os
import shutil
import socket

import pytest

from engine.runner import landlock, seccomp
from tests.runner.misbehaving.spec import (
    AttemptCompilerSpec,
    AttemptLoopbackSpec,
    AttemptProcessesSpec,
    AttemptSpec,
    SandboxSpec,
)


@pytest.fixture
def attempt(engine):
    return lambda what, target="", kind=AttemptSpec: (
        engine.submit(kind(what=what, target=target), fresh=True).result().text
    )


@pytest.fixture
def needs_feature(engine):
    reported = engine.submit(SandboxSpec(), fresh=True).result().text

    def check(name):
        if f"{name}=True" not in reported:
            pytest.skip(f"reported absent here: {name}")

    return check


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


def test_every_feature_is_reported(engine):
    reported = engine.submit(SandboxSpec(), fresh=True).result().text
    assert [part.rpartition("=")[2] in ("True", "False") for part in reported.split("|")] == [True] * 4


def test_no_writes_outside_the_private_folder(attempt, needs_feature, tmp_path):
    needs_feature(landlock.NAME)
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    for what, target in (("write_outside", kept), ("write_outside", tmp_path / "new"), ("remove_outside", kept)):
        assert attempt(what, str(target)) == "denied PermissionError"
    assert kept.read_text() == "as it was"
    assert not (tmp_path / "new").exists()


def test_writes_inside_the_private_folder(attempt):
    assert attempt("write_inside") == "done 1"
    assert attempt("temporary_file") == "done True"


def test_no_tcp_without_the_loopback_need(attempt, needs_feature, listening):
    needs_feature(seccomp.NAME)
    assert attempt("tcp_connect", listening) == "denied PermissionError"
    assert attempt("udp") == "denied PermissionError"
    assert attempt("tcp_connect", listening, AttemptProcessesSpec) == "denied PermissionError"
    assert attempt("tcp_connect", listening, AttemptLoopbackSpec) == "done"


def test_no_programs_or_processes_without_the_need(attempt, needs_feature):
    needs_feature(seccomp.NAME)
    for what in ("fork", "exec"):
        assert attempt(what) == "denied PermissionError"
        assert attempt(what, kind=AttemptLoopbackSpec) == "denied PermissionError"
        assert attempt(what, kind=AttemptProcessesSpec).startswith("done")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("c++") is None, reason="inductor needs a C++ compiler")
def test_torch_compile_works_within_the_compiler_need(attempt):
    assert attempt("torch_compile", kind=AttemptCompilerSpec) == "done True"


def test_threads_stay_possible(attempt):
    assert attempt("thread") == "done 1"


def test_no_signals_to_the_app(attempt, needs_feature):
    needs_feature(landlock.NAME)
    if landlock._libc.syscall(444, None, 0, 1) < 6:
        pytest.skip("Landlock before version 6 does not scope signals")
    assert attempt("signal_parent", str(os.getpid())) == "denied PermissionError"
