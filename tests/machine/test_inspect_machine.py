"""The machine's status against what this process finds by other ways."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys

import pytest
import torch

from engine import run
from engine.machine import compiler
from engine.machine.spec import MachineSpec


@pytest.fixture(scope="module")
def machine():
    return run(MachineSpec(), fresh=True)


def test_versions_are_those_of_the_worker(machine):
    assert machine.torch_version == torch.__version__
    assert machine.python_version == platform.python_version()
    assert platform.machine() in machine.platform


def test_each_device_is_there_or_says_why(machine):
    assert [device.kind for device in machine.devices] == ["cpu", "cuda", "mps"]
    for device in machine.devices:
        assert device.available != bool(device.reason)
    available = {device.kind: device.available for device in machine.devices}
    assert available == {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if torch.version.cuda is None and torch.version.hip is None:
        assert machine.devices[1].reason == f"this PyTorch build has no CUDA support ({torch.__version__})"


def test_autocast_is_what_a_matmul_says(machine):
    for capability, dtype in zip(machine.autocast, (torch.bfloat16, torch.float16), strict=True):
        assert f"torch.{capability.name}" == str(dtype)
        with torch.autocast("cpu", dtype=dtype):
            assert capability.available == ((torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype)


@pytest.mark.skipif(shutil.which("c++") is None or "CXX" in os.environ, reason="compares with c++")
def test_the_compiler_tells_its_own_version(machine):
    said = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout
    assert machine.compiler.available
    assert machine.compiler.detail == f"c++: {said.splitlines()[0]}"


def test_without_a_compiler_the_reason_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = compiler.find_compiler()
    assert not found.available
    assert "none found" in found.detail


def test_a_compiler_that_fails_is_told(monkeypatch, tmp_path):
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(compiler, "_USUAL", ("c++",))
    found = compiler.find_compiler()
    assert not found.available
    assert "c++ did not answer" in found.detail
    assert "3" in found.detail


def test_memory_and_cores(machine):
    assert 0 < machine.cores <= (os.cpu_count() or 1)
    assert machine.threads == MachineSpec.limits.threads
    if sys.platform == "linux":
        assert 0 < machine.memory_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_the_sandbox_is_reported_by_the_worker_that_has_it(machine):
    assert len(machine.sandbox) == 4
    assert all(feature.detail for feature in machine.sandbox)
    inline = run(MachineSpec(), inline=True)
    assert [feature.available for feature in inline.sandbox] == [False]


def test_operators_are_told_as_they_are(machine):
    from engine.operators.state import operators_state

    state = operators_state()
    assert machine.operators.available == (state.kind == "built")
    assert state.detail in machine.operators.detail
    if machine.operators.available:
        assert machine.operators.detail.split(",")[0] in {"baseline", "avx2", "avx512"}
