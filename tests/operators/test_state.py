"""What the app reads from a build's files, in every stage of one."""

from __future__ import annotations

import sys

import pytest

from engine.operators import build, library
from engine.operators.state import TAIL_LINES, operators_state

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is built on Windows")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the present sources' build, in an empty place."""
    monkeypatch.setattr(library, "BUILDS", tmp_path)
    monkeypatch.setattr(build, "BUILDS", tmp_path)
    monkeypatch.setattr(library, "SHIPPED", tmp_path)
    monkeypatch.delenv(library.USE, raising=False)
    made = library.library_path().parent
    made.mkdir()
    return made


def test_nothing_yet(folder, monkeypatch, tmp_path):
    assert operators_state().kind in {"not built", "no compiler"}
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    state = operators_state()
    assert (state.kind, state.detail.partition(":")[0]) == ("no compiler", "C++ compiler")


def test_while_building(folder):
    with build.only_builder(print):
        assert (operators_state().kind, operators_state().total) == ("building", 0)
        (folder / library.LOG).write_text(
            "Compiling with c++\n1 of 7: a.cpp\n[1/7] c++ a.cpp\n2 of 7: b.cpp\n[2/7] c++\n"
        )
        state = operators_state()
        assert (state.kind, state.done, state.total, state.detail) == ("building", 2, 7, "2 of 7: b.cpp")
    assert operators_state().kind in {"not built", "no compiler"}, "a build that was cut off is none"


@pytest.mark.parametrize("log", ["", "Compiling with c++\n", "Waiting for another build to end\n", "1 of"])
def test_while_building_before_any_file_is_done(folder, log):
    with build.only_builder(print):
        (folder / library.LOG).write_text(log)
        state = operators_state()
    assert (state.kind, state.detail, state.done, state.total) == ("building", "starting the compiler", 0, 0)


def test_after_a_failure(folder):
    lines = [f"line {number}" for number in range(100)]
    (folder / library.LOG).write_text("\n".join([*lines, f"{build.FAILED}a.cpp:3: error: no"]) + "\n")
    state = operators_state()
    assert (state.kind, state.detail) == ("failed", "a.cpp:3: error: no")
    assert len(state.log_tail.splitlines()) == TAIL_LINES


def test_built_and_switched_off(folder, monkeypatch):
    (folder / library.LIBRARY).touch()
    assert operators_state().kind == "built"
    assert operators_state().key == library.source_key()
    monkeypatch.setenv(library.USE, "reference")
    assert operators_state().kind == "switched off"
    assert not library.is_built()
