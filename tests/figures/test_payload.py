"""The bytes a canvas receives, read back by a second reader written from the description."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from engine.figures.payload import ALIGNMENT, pack, unpack
from engine.runner.contract import Array

COLUMNS = {
    "odd": Array("uint8", (3,), bytes([1, 2, 3])),
    "pairs": Array("uint32", (2, 2), np.arange(4, dtype="<u4").tobytes()),
    "none": Array("float32", (0,), b""),
    "reals": Array("float64", (1,), np.array([0.1], dtype="<f8").tobytes()),
}


def test_every_column_is_where_the_table_says_and_aligned():
    packed = pack({"word": "ü</script>"}, COLUMNS)
    (length,) = struct.unpack("<I", packed[:4])
    content = json.loads(packed[4 : 4 + length])
    assert content["word"] == "ü</script>"
    start = -(-(4 + length) // 8) * 8
    for name, column in COLUMNS.items():
        dtype, offset, count = content["columns"][name]
        assert (start + offset) % ALIGNMENT == 0
        read = np.frombuffer(packed, dtype=np.dtype(dtype).newbyteorder("<"), offset=start + offset, count=count)
        assert read.tobytes() == column.data


def test_unpack_gives_back_what_was_packed():
    content, columns = unpack(pack({"a": [1, None]}, COLUMNS))
    assert content["a"] == [1, None]
    assert columns == {name: column.data for name, column in COLUMNS.items()}


def test_a_dtype_no_browser_reads_is_refused():
    with pytest.raises(ValueError, match=r"'big' must be one of uint8.*received 'int64'"):
        pack({}, {"big": Array("int64", (1,), bytes(8))})
