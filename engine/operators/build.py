"""Build the operators of csrc/: `python -m engine.operators.build`, once per state of the sources.

Of several builds at once one compiles and the others wait for it. The library appears under its key in one step; what
the compiler said is beside it, also when it failed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from engine.machine.compiler import compiler_command, find_compiler
from engine.operators.library import BUILDS, LIBRARY, LOG, ROOT, SOURCES, library_path, source_files, source_key

if sys.platform != "win32":
    import fcntl

KEPT = 4
"""Builds of earlier sources that stay, so that going back and forth does not compile again."""
FAILED = "Failed: "
_NINJA_STEP = re.compile(r"\[(\d+)/(\d+)\] .*?([^\s/\\]+\.(?:cpp|cu))\b")
_COMPLAINT = re.compile(r"\berror\b[ :]|undefined reference|undefined symbol|Error: ", re.I)
_MESSAGE_LENGTH = 300

Tell = Callable[[str], None]


class BuildFailed(Exception):
    """No library, with the first thing the compiler complained of, or the reason it could not be asked."""


def build(tell: Tell = print) -> Path:
    """The library's path; `tell` gets "3 of 14: gelu_tanh.cpp" as files are compiled. BuildFailed when it cannot be."""
    if (built := library_path()).exists():
        return built
    if sys.platform == "win32":
        raise BuildFailed("the operators are compiled on Linux and macOS; their flags are those of GCC and Clang")
    compiler = find_compiler()
    if not compiler.available:
        raise BuildFailed(f"no C++ compiler: {compiler.detail}")
    BUILDS.mkdir(parents=True, exist_ok=True)
    with only_builder(tell):
        sources = take_copy(SOURCES, BUILDS / "csrc")
        target = BUILDS / source_key(sources) / LIBRARY
        if not target.exists():
            _build_under_lock(sources, target, compiler.detail, tell)
        return target


def take_copy(sources: Path, copy: Path) -> Path:
    """The sources as they are now, for a build of minutes to read while someone edits them.

    Files that are the same keep their time, so that what was compiled from them stays.
    """
    wanted = {path.relative_to(sources): path.read_bytes() for path in source_files(sources)}
    for path in source_files(copy):
        if path.relative_to(copy) not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = copy / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return copy


@contextlib.contextmanager
def only_builder(tell: Tell) -> Iterator[None]:
    """Wait until no other process builds in this folder."""
    with (BUILDS / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("Waiting for another build to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_building() -> bool:
    """Whether a process builds in this folder now."""
    if sys.platform == "win32":
        return False
    try:
        with (BUILDS / "lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _build_under_lock(sources: Path, target: Path, compiler: str, tell: Tell) -> None:
    began_s = time.monotonic()
    target.parent.mkdir(exist_ok=True)
    with (target.parent / LOG).open("w", encoding="utf-8") as log:
        _log(log, f"Compiling with {compiler}")
        try:
            linked = _compile(sources, log, tell)
            os.replace(linked, target)
        except BuildFailed as failed:
            _log(log, f"{FAILED}{failed}")
            raise
        took = f"Built in {time.monotonic() - began_s:.0f} s"
        _log(log, took)
        tell(took)
    _forget_old(target.parent)


def _compile(sources: Path, log: IO[str], tell: Tell) -> Path:
    """Run the compiling process, everything it prints into the log; what it linked."""
    with subprocess.Popen(
        [sys.executable, "-m", "engine.operators.compile", str(sources), str(BUILDS / "objects")],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=_environment(),
    ) as process:
        assert process.stdout is not None
        complaint, last = "", ""
        for line in process.stdout:
            last = line.rstrip().replace(str(sources), "csrc") or last
            if step := _NINJA_STEP.match(last):
                told = f"{step[1]} of {step[2]}: {step[3]}"
                tell(told)
                _log(log, told)
            elif not complaint and _COMPLAINT.search(last):
                complaint = last.strip()
            _log(log, last)
    if process.returncode:
        ended = f"the compiling process ended with status {process.returncode}; its last line: {last}"
        raise BuildFailed((complaint or ended)[:_MESSAGE_LENGTH])
    return Path(last)


def _environment() -> dict[str, str]:
    """One compiler for compiling and linking, its messages in English, and the ninja beside this interpreter."""
    command = compiler_command() or "c++"
    ours = {
        "CC": command,
        "CXX": command,
        "LC_ALL": "C.UTF-8",
        "NINJA_STATUS": "[%f/%t] ",
        "MAX_JOBS": os.environ.get("MAX_JOBS") or str(os.cpu_count() or 1),
        "PATH": os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent))),
    }
    return os.environ | ours


def _log(log: IO[str], line: str) -> None:
    print(line, file=log, flush=True)


def _forget_old(newest: Path) -> None:
    others = [path for path in BUILDS.iterdir() if (path / LOG).exists() and path != newest]
    for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def main() -> int:
    """Exit status 1, and why, when there is no library at the end."""
    try:
        library = build(lambda line: print(line, flush=True))
    except BuildFailed as failed:
        print(f"The operators are not built: {failed}")
        print("The app runs all the same, with their reference implementation in PyTorch's own operations.")
        return 1
    print(f"Operators: {os.path.relpath(library)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
