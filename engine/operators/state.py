"""How far the compiled operators are on this machine, as the app sees it: read from files, never by loading torch."""

from __future__ import annotations

import datetime
import re
from typing import Literal

import msgspec

from engine.machine.compiler import find_compiler
from engine.operators.build import FAILED, is_building
from engine.operators.library import USE, library_path, log_path, only_reference, source_files

Kind = Literal["built", "building", "failed", "no compiler", "not built", "switched off"]
TAIL_LINES = 40
_STEP = re.compile(r"^(\d+) of (\d+): \S+$", re.M)


class OperatorsState(msgspec.Struct, frozen=True, kw_only=True):
    """`detail` says it in one line; while building `done` of `total` files are compiled, `last` the latest.

    `key` names the build; `log_tail` is the end of what the compiler printed, after a failure.
    """

    kind: Kind
    detail: str
    key: str = ""
    done: int = 0
    total: int = 0
    last: str = ""
    log_tail: str = ""


def operators_state() -> OperatorsState:
    """The state now. Costs a few milliseconds; where nothing is built yet the compiler is asked its version."""
    library = library_path()
    if only_reference():
        return OperatorsState(kind="switched off", detail=f"{USE}=reference: PyTorch's own operations stand in")
    if library.exists():
        when = datetime.datetime.fromtimestamp(library.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
        return OperatorsState(kind="built", detail=f"compiled on {when}", key=library.parent.name)
    if is_building():
        return _building()
    log = build_log()
    if reason := _failure(log):
        return OperatorsState(kind="failed", detail=reason, log_tail=tail_of(log))
    compiler = find_compiler()
    if not compiler.available:
        return OperatorsState(kind="no compiler", detail=f"C++ compiler: {compiler.detail}")
    return OperatorsState(kind="not built", detail=f"{len(source_files())} source files, not compiled yet")


def build_log() -> str:
    """All that the compiler printed when the present sources were built, or tried to; "" before that."""
    try:
        return log_path().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def tail_of(log: str) -> str:
    return "\n".join(log.splitlines()[-TAIL_LINES:])


def _building() -> OperatorsState:
    log = build_log()
    steps = list(_STEP.finditer(log))
    if not steps:
        return OperatorsState(kind="building", detail="starting the compiler", last=log.rpartition("\n")[2])
    latest = steps[-1]
    done, total = int(latest[1]), int(latest[2])
    detail = latest[0] if done < total else "linking"
    return OperatorsState(kind="building", detail=detail, done=done, total=total, last=latest[0])


def _failure(log: str) -> str:
    """The reason in the last line of a build that ended in failure, "" for one that was cut off or never began."""
    last = log.rstrip("\n").rpartition("\n")[2]
    return last.removeprefix(FAILED) if last.startswith(FAILED) else ""
