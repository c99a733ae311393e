"""Landlock: no writes outside the private folder, no TCP. Kernel interface: Linux 5.13+, userspace-api/landlock.

Called through `syscall` because the C library has no wrappers.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from engine.runner.contract import Need
from engine.runner.feature import Feature

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER = 1 << 13  # ABI 2
_TRUNCATE = 1 << 14  # ABI 3
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1  # ABI 4
_ABSTRACT_UNIX, _SIGNAL = 1 << 0, 1 << 1  # ABI 6

NAME = "file and network sandbox (Landlock)"


class _RulesetAttr(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def restrict(private: Path, needs: frozenset[Need]) -> Feature:
    """Allow writes below `private` only; without the loopback need also deny TCP bind and connect."""
    if _libc is None:
        return Feature(NAME, False, f"Landlock exists on Linux only, this is {sys.platform}")
    abi = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if abi < 1:
        return Feature(NAME, False, f"this kernel has no Landlock: {os.strerror(ctypes.get_errno())}")
    try:
        _enforce(abi, private, needs)
    except OSError as error:
        return Feature(NAME, False, f"Landlock version {abi} refused: {error.strerror}")
    network = "TCP allowed for this job" if "loopback" in needs else "no TCP" if abi >= 4 else "TCP not covered"
    return Feature(NAME, True, f"version {abi}: writes only in a private folder, {network}")


def _enforce(abi: int, private: Path, needs: frozenset[Need]) -> None:
    assert _libc is not None
    files = _WRITE_FILE | _REMOVE_AND_MAKE | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    network = _BIND_TCP | _CONNECT_TCP if abi >= 4 and "loopback" not in needs else 0
    attr = _RulesetAttr(files, network, _ABSTRACT_UNIX | _SIGNAL if abi >= 6 else 0)
    ruleset = _check(_libc.syscall(_CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(_attr_bytes(abi)), 0))
    try:
        _allow(ruleset, private, files)
        for path in _writable_devices(needs):
            _allow(ruleset, path, files if path.is_dir() else _WRITE_FILE | (files & _TRUNCATE))
        _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _attr_bytes(abi: int) -> int:
    return 8 if abi < 4 else 16 if abi < 6 else 24


def _writable_devices(needs: frozenset[Need]) -> list[Path]:
    if "accelerator" in needs:
        return [Path("/dev"), Path("/proc/self")]
    return [Path("/dev/null"), *([Path("/dev/shm")] if "processes" in needs else [])]


def _allow(ruleset: int, path: Path, access: int) -> None:
    assert _libc is not None
    if not path.exists():
        return
    fd = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    try:
        rule = _PathBeneathAttr(access, fd)
        _check(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(fd)


def _check(returned: int) -> int:
    if returned < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return returned
