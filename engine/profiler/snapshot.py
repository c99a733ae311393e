"""The allocator's events in the structure of `torch.cuda.memory._snapshot()`, pickled for the standard viewer.

pytorch.org/memory_viz opens pickles only. Ours are written here, opcode by opcode and of plain data alone; nothing is
ever read back. The opcodes are those of protocol 2 (Lib/pickletools.py of CPython describes each).
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from engine.profiler.columns import Allocations, Operations

Frame = dict[str, Any]
MOST_FRAMES = 12
"""Operations around an allocation that become its stack."""
FARTHEST = 1 << 20
"""Bytes between two blocks of one segment."""


def pickled(value: Any) -> bytes:
    """`value` (None, bool, int, float, str, lists, tuples, dicts of them) as a pickle; TypeError for another type."""
    out = bytearray(b"\x80\x02")
    _write(value, out)
    return bytes(out) + b"."


def _write(value: Any, out: bytearray) -> None:
    if isinstance(value, dict):
        out += b"}("
        for key, entry in value.items():
            _write(key, out)
            _write(entry, out)
        out += b"u"
    elif isinstance(value, list | tuple):
        out += b"]("
        for entry in value:
            _write(entry, out)
        out += b"e"
    elif value is None or isinstance(value, bool):
        out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
    else:
        _write_plain(value, out)


def _write_plain(value: Any, out: bytearray) -> None:
    if isinstance(value, int):
        size = value.bit_length() // 8 + 1
        small = -(2**31) <= value < 2**31
        out += b"J" + struct.pack("<i", value) if small else b"\x8a" + bytes([size])
        out += b"" if small else value.to_bytes(size, "little", signed=True)
    elif isinstance(value, float):
        out += b"G" + struct.pack(">d", value)
    elif isinstance(value, str):
        text = value.encode("utf-8", "replace")
        out += b"X" + struct.pack("<I", len(text)) + text
    else:
        raise TypeError(f"Only plain data can be written; received a {type(value).__name__}. Convert it first.")


class _Block(msgspec.Struct, frozen=True):
    address: int
    size: int
    frames: list[Frame]


def cpu_snapshot(allocations: Allocations, operations: Operations, names: list[str]) -> dict[str, Any]:
    """The events of a profile as `torch.cuda.memory._snapshot()` would tell them, as of one device.

    `names` are those of the table's rows. The frames of a block are the operations around its allocation, innermost
    first: the CPU's events carry no Python stack. Addresses count from the lowest; times are microseconds. What is
    alive at the end lies in segments of neighbours, as the CPU allocator keeps none.
    """
    live: dict[int, _Block] = {}
    trace: list[dict[str, Any]] = []
    for place in range(len(allocations)):
        address, size = int(allocations.addresses[place]), int(allocations.sizes[place])
        frames = _frames(int(allocations.operations[place]), operations, names)
        entry = {"addr": address, "size": size, "stream": 0, "time_us": int(allocations.times_ns[place]) // 1000}
        if not allocations.frees[place]:
            live[address] = _Block(address, size, frames)
            trace.append({"action": "alloc", **entry, "frames": frames})
            continue
        live.pop(address, None)
        trace += [{"action": action, **entry, "frames": frames} for action in ("free_requested", "free_completed")]
    blocks = sorted(live.values(), key=lambda block: block.address)
    return {
        "segments": [_segment(one) for one in _neighbours(blocks)],
        "device_traces": [trace],
        "allocator_settings": {},
    }


def _frames(operation: int, operations: Operations, names: list[str]) -> list[Frame]:
    frames: list[Frame] = []
    while operation >= 0 and len(frames) < MOST_FRAMES:
        name = names[operations.rows[operation]]
        frames.append({"name": name, "filename": operations.phases[operation], "line": 0})
        operation = int(operations.parents[operation])
    return frames


def _neighbours(blocks: list[_Block]) -> list[list[_Block]]:
    """Blocks in order of address, cut where the next is more than FARTHEST away."""
    groups: list[list[_Block]] = []
    for block in blocks:
        last = groups[-1][-1] if groups else None
        if last is not None and block.address - (last.address + last.size) <= FARTHEST:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def _segment(blocks: list[_Block]) -> dict[str, Any]:
    """Neighbours as one segment, with inactive blocks between."""
    begin = at = blocks[0].address
    laid = list[dict[str, Any]]()
    for block in blocks:
        if block.address > at:
            laid.append(_inactive(at, block.address - at))
        laid.append(
            {
                "address": block.address,
                "size": block.size,
                "requested_size": block.size,
                "state": "active_allocated",
                "frames": block.frames,
            }
        )
        at = block.address + block.size
    alive = sum(block.size for block in blocks)
    return {
        "device": 0,
        "address": begin,
        "total_size": at - begin,
        "allocated_size": alive,
        "active_size": alive,
        "requested_size": alive,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": [0, 0],
        "is_expandable": False,
        "frames": [],
        "blocks": laid,
    }


def _inactive(address: int, size: int) -> dict[str, Any]:
    return {"address": address, "size": size, "requested_size": size, "state": "inactive", "frames": []}
