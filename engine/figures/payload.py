"""What a canvas receives: JSON for structure and words, raw columns for what there is one of per node or edge.

Layout: length of the JSON in bytes (uint32, little-endian), the JSON, then the columns, each at a multiple of 8 bytes
from the start. The JSON's `columns` says per name: dtype, offset in bytes from the start of the columns, elements.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import msgspec

from engine.runner.contract import Array

ALIGNMENT = 8
ITEM_BYTES = {"uint8": 1, "uint16": 2, "uint32": 4, "int32": 4, "float32": 4, "float64": 8}
"""What a browser has a typed array for."""


def pack(content: Mapping[str, Any], columns: Mapping[str, Array] | None = None) -> bytes:
    """`content` and `columns` as one block of bytes; ValueError for a dtype no browser reads."""
    table, parts, offset = {}, [], 0
    for name, column in (columns or {}).items():
        if column.dtype not in ITEM_BYTES:
            listed = ", ".join(ITEM_BYTES)
            raise ValueError(f"Column {name!r} must be one of {listed}; received {column.dtype!r}. Convert it first.")
        count = math.prod(column.shape)
        table[name] = (column.dtype, offset, count)
        parts.append(column.data + bytes(-len(column.data) % ALIGNMENT))
        offset += len(parts[-1])
    words = msgspec.json.encode({**content, "columns": table})
    head = struct.pack("<I", len(words)) + words
    return b"".join([head, bytes(-len(head) % ALIGNMENT), *parts])


def unpack(packed: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What `pack` was given: the content (with its table of columns) and every column's bytes."""
    (length,) = struct.unpack_from("<I", packed)
    content: dict[str, Any] = msgspec.json.decode(packed[4 : 4 + length])
    start = 4 + length + (-(4 + length) % ALIGNMENT)
    columns = {
        name: packed[start + offset : start + offset + count * ITEM_BYTES[dtype]]
        for name, (dtype, offset, count) in content["columns"].items()
    }
    return content, columns
