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
    reasons = []
    for command in filter(None, (os.environ.get("CXX"), *_USUAL)):
        if shutil.which(command) is None:
            continue
        try:
            answer = _ask_version(command)
        except (OSError, subprocess.SubprocessError) as error:
            reasons.append(f"{command} did not answer: {error}")
            continue
        return Capability(name=NAME, available=True, detail=f"{command}: {answer}")
    nothing = f"none found ({', '.join(_USUAL)}, $CXX)"
    return Capability(name=NAME, available=False, detail="; ".join(reasons) or nothing)


def _ask_version(command: str) -> str:
    asked = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=_ANSWER_LIMIT_S, check=True)
    return asked.stdout.partition("\n")[0].strip()
