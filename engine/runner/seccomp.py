"""seccomp: a worker starts no programs, forks no processes and opens no network sockets unless its spec needs to.

A classic BPF program over `struct seccomp_data`; threads stay possible, because only `clone` without CLONE_THREAD is
denied and `clone3`, whose flags a filter cannot read, answers ENOSYS so that the C library falls back to `clone`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import NamedTuple

from engine.runner.contract import Need
from engine.runner.feature import Feature

NAME = "no new programs, processes or sockets (seccomp)"

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENT_0_OFFSET = 0, 4, 16
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000
_AF_UNIX = 1


class _Calls(NamedTuple):
    audit: int
    clone: int
    clone3: int
    socket: int
    starts: tuple[int, ...]  # execve, execveat and, on x86_64, fork and vfork
    never: tuple[int, ...]  # ptrace, process_vm_writev, io_uring_setup


_BY_MACHINE = {
    "x86_64": _Calls(0xC000003E, 56, 435, 41, (59, 322, 57, 58), (101, 311, 425)),
    "aarch64": _Calls(0xC00000B7, 220, 435, 198, (221, 281), (117, 271, 425)),
}


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction)))


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def restrict(needs: frozenset[Need]) -> Feature:
    """Install the filter for this process and its future threads."""
    calls = _BY_MACHINE.get(platform.machine())
    if _libc is None or calls is None:
        return Feature(NAME, False, f"no filter for {sys.platform} on {platform.machine()}")
    program = _assemble(calls, needs)
    instructions = (_Instruction * len(program))(*(_Instruction(*one) for one in program))
    filter_program = _Program(len(program), instructions)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filter_program), 0, 0) != 0:
        return Feature(NAME, False, f"the kernel refused the filter: {os.strerror(ctypes.get_errno())}")
    widened = sorted(needs & {"compiler", "processes", "loopback"})
    return Feature(NAME, True, f"widened for this job: {', '.join(widened)}" if widened else "in force")


def _assemble(calls: _Calls, needs: frozenset[Need]) -> list[tuple[int, int, int, int]]:
    """(code, jump if true, jump if false, k) in order; every rule falls through to the next."""
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_EQUAL, 1, 0, calls.audit),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
    ]
    if calls.audit == _BY_MACHINE["x86_64"].audit:
        program += [(_JUMP_GREATER_EQUAL, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for number in calls.never:
        program += _deny(number, errno.EPERM)
    if not needs & {"compiler", "processes"}:
        for number in calls.starts:
            program += _deny(number, errno.EPERM)
        program += _deny(calls.clone3, errno.ENOSYS)
        program += _deny_by_argument(calls.clone, (_JUMP_ANY_BIT, 1, 0, _CLONE_THREAD))
    if "loopback" not in needs:
        program += _deny_by_argument(calls.socket, (_JUMP_EQUAL, 1, 0, _AF_UNIX))
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _deny(number: int, answer: int) -> list[tuple[int, int, int, int]]:
    return [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | answer)]


def _deny_by_argument(number: int, allowed: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Deny call `number` unless the test `allowed` of its first argument (low 32 bits) jumps."""
    return [
        (_JUMP_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, _ARGUMENT_0_OFFSET),
        allowed,
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
    ]
