"""A program with the line numbers of its text as the page shows it."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from engine.diagnostics.catalogue import program_source
from engine.diagnostics.spec import ProgramSpec

FILE = "program"


def as_shown(run: FunctionType, spec: ProgramSpec) -> Callable[[], dict[str, Any]]:
    """The same function; what it calls sees it in a file `program` that starts with its first statement."""
    lines = [f"{line}\n" for line in program_source(spec.program, spec.mended)[1]]
    linecache.cache[FILE] = (sum(map(len, lines)), None, lines, FILE)
    return FunctionType(_moved(run.__code__, run.__code__.co_firstlineno), run.__globals__, run.__name__)


def _moved(code: CodeType, lines: int) -> CodeType:
    """The code, and that of functions inside of it, so many lines further up."""
    inside = tuple(_moved(one, lines) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=FILE, co_firstlineno=code.co_firstlineno - lines, co_consts=inside)
