"""Building with the real compiler: at once, again, without ninja, with an error, without a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.machine.compiler import find_compiler
from engine.operators import library
from engine.operators.build import KEPT, _forget_old, take_copy
from engine.operators.library import LIBRARY, LOG, _builds_folder, is_built, only_reference, source_key
from tests.operators.tree import copy_project, copy_small

with_compiler = pytest.mark.skipif(not find_compiler().available, reason="no C++ compiler")


def start_build(tree: Path, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "engine.operators.build"],
        cwd=tree,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | env,
    )


def build_in(tree: Path, **env: str) -> tuple[int, list[str]]:
    process = start_build(tree, **env)
    said, _ = process.communicate(timeout=200)
    return process.returncode, said.splitlines()


def steps(lines: list[str]) -> list[str]:
    return [line for line in lines if " of " in line]


def library_in(tree: Path) -> Path:
    (found,) = (tree / "build" / "operators").glob(f"*/{LIBRARY}")
    return found


def state_in(tree: Path, **env: str) -> list[str]:
    """kind, detail and log tail as the app of that tree sees them."""
    ask = (
        "from engine.operators.state import operators_state as s; print(s().kind, s().detail, s().log_tail, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=tree, capture_output=True, text=True, check=True, env=os.environ | env
    )
    return done.stdout.splitlines()


@pytest.mark.skipif(not find_compiler().available or only_reference(), reason="nothing can be built here")
def test_where_there_is_a_compiler_the_operators_are_built():
    if not is_built():
        pytest.fail("The operators are not built: run python -m engine.operators.build and read what it says.")


@pytest.mark.slow
@with_compiler
@pytest.mark.timeout(300)
def test_two_builds_at_once_compile_once_and_the_next_only_what_changed(tmp_path):
    tree = copy_small(tmp_path)
    first, second = start_build(tree), start_build(tree)
    said = [process.communicate(timeout=200)[0].splitlines() for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], said
    built = library_in(tree)
    assert sorted(len(steps(lines)) for lines in said) == [0, 3]
    assert sorted(line.partition(": ")[0] for line in steps(said[0] + said[1])) == ["1 of 3", "2 of 3", "3 of 3"]
    assert str(tree).encode() not in built.read_bytes()
    log = (built.parent / LOG).read_text()
    assert "It loads and runs on" in log
    assert "csrc/arguments.cpp" in log
    assert state_in(tree)[0] == "built"

    source = tree / "csrc" / "cpu" / "instruction_set.cpp"
    source.write_text(source.read_text() + "// changed\n")
    assert state_in(tree)[0] == "not built"
    code, lines = build_in(tree)
    assert (code, steps(lines)) == (0, ["1 of 1: instruction_set.cpp"])
    source.write_text(source.read_text().removesuffix("// changed\n"))
    assert (build_in(tree)[0], steps(build_in(tree)[1])) == (0, []), "the earlier build was kept"


@pytest.mark.slow
@with_compiler
@pytest.mark.timeout(300)
def test_without_ninja_too(tmp_path):
    tree, programs = copy_small(tmp_path / "tree"), tmp_path / "programs"
    programs.mkdir()
    (programs / "ninja").write_text("#!/bin/sh\nexit 1\n")
    (programs / "ninja").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    code, lines = build_in(tree, PATH=path)
    assert code == 0, lines
    assert len(steps(lines)) == 3
    assert not (tree / "build" / "operators" / "objects" / "build.ninja").exists()
    objects = tree / "build" / "operators" / "objects"
    before = {made: made.stat().st_mtime_ns for made in objects.rglob("*.o")}
    assert len(before) == 3
    source = tree / "csrc" / "cpu" / "instruction_set.cpp"
    source.write_text(source.read_text() + "// changed\n")
    assert build_in(tree, PATH=path)[0] == 0
    changed = [made.name for made, when in before.items() if made.stat().st_mtime_ns != when]
    assert changed == ["instruction_set.o"]


@pytest.mark.slow
@with_compiler
@pytest.mark.timeout(200)
def test_an_error_in_the_sources_is_told_in_the_compilers_words(tmp_path):
    tree = copy_small(tmp_path)
    source = tree / "csrc" / "arguments.cpp"
    source.write_text(source.read_text() + "int unfinished(\n")
    code, lines = build_in(tree)
    assert code == 1
    (told,) = [line for line in lines if line.startswith("The operators are not built:")]
    assert "csrc/arguments.cpp:" in told
    assert "error:" in told
    assert str(tree) not in told
    kind, detail, *tail = state_in(tree)
    assert kind == "failed"
    assert detail in told
    assert any("arguments.cpp" in line for line in tail)
    assert not list((tree / "build").rglob(LIBRARY))


def test_without_a_compiler_the_reason_is_told_and_nothing_is_left(tmp_path):
    tree = copy_project(tmp_path, "engine", "csrc")
    code, lines = build_in(tree, PATH=str(tmp_path), CXX="")
    assert code == 1
    assert lines[0].startswith("The operators are not built: no C++ compiler: none found")
    assert "reference" in lines[1]
    assert not (tree / "build").exists()
    assert state_in(tree, PATH=str(tmp_path), CXX="")[0] == "no compiler"


def test_where_the_checkout_cannot_be_written_the_users_cache_is_used(tmp_path):
    assert _builds_folder(tmp_path, None) == tmp_path / "build" / "operators"
    (tmp_path / "build").write_text("in the way")
    cache = tmp_path / "cache"
    assert _builds_folder(tmp_path, str(cache)) == cache / "torch-atlas" / "operators"
    assert _builds_folder(tmp_path, None).is_relative_to(Path.home())


def test_the_key_follows_every_source(tmp_path):
    shutil.copytree(library.SOURCES, tmp_path / "csrc")
    before = source_key(tmp_path / "csrc")
    assert before == source_key(library.SOURCES)
    header = tmp_path / "csrc" / "math" / "gelu.h"
    header.write_text(header.read_text() + "\n")
    changed = source_key(tmp_path / "csrc")
    header.rename(header.with_name("renamed.h"))
    assert len({before, changed, source_key(tmp_path / "csrc")}) == 3


def test_a_build_reads_a_copy_whose_unchanged_files_keep_their_time(tmp_path):
    sources, copy = tmp_path / "csrc", tmp_path / "copy"
    sources.mkdir()
    for name in ("a.cpp", "b.h", "gone.cpp"):
        (sources / name).write_text(name)
    take_copy(sources, copy)
    before = {path.name: path.stat().st_mtime_ns for path in copy.iterdir()}
    (sources / "a.cpp").write_text("edited")
    (sources / "b.h").touch()
    (sources / "gone.cpp").unlink()
    take_copy(sources, copy)
    assert source_key(copy) == source_key(sources)
    assert {path.name for path in copy.iterdir()} == {"a.cpp", "b.h"}
    assert (copy / "b.h").stat().st_mtime_ns == before["b.h"]
    assert (copy / "a.cpp").read_text() == "edited"


def test_the_last_few_builds_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.operators.build.BUILDS", tmp_path)
    for age in range(KEPT + 3):
        folder = tmp_path / f"key{age}"
        folder.mkdir()
        (folder / LOG).touch()
        os.utime(folder, (1000 - age, 1000 - age))
    (tmp_path / "objects").mkdir()
    _forget_old(tmp_path / f"key{KEPT + 2}")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"objects", f"key{KEPT + 2}", *(f"key{age}" for age in range(KEPT))}
