"""Which C++ compiler there is, asked by running it."""

from __future__ import annotations

import os
import shutil
import subprocess

from engine.machine.spec import Capability

NAME = "C++ compiler"
_ANSWER_LIMIT_S = 10.0
_USUAL = ("c++", "g++", "clang++", "cl")


def find_compiler() -> Capability:
    """The first of $CXX and the usual names that answers `--version`."""
    command, said = _search()
    return Capability(name=NAME, available=bool(command), detail=f"{command}: {said}" if command else said)


def compiler_command() -> str | None:
    """What to call to compile C++, None when nothing answers."""
    return _search()[0]


def _search() -> tuple[str | None, str]:
    """The command with what it answered, or None with the reason."""
    reasons = []
    for command in filter(None, (os.environ.get("CXX"), *_USUAL)):
        if shutil.which(command) is None:
            continue
        try:
            return command, _ask_version(command)
        except (OSError, subprocess.SubprocessError) as error:
            reasons.append(f"{command} did not answer: {error}")
    return None, "; ".join(reasons) or f"none found ({', '.join(_USUAL)}, $CXX)"


def _ask_version(command: str) -> str:
    asked = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=_ANSWER_LIMIT_S, check=True)
    return asked.stdout.partition("\n")[0].strip()
