"""Results by encoded spec, least recently used out first, bounded by bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict

from engine.runner.contract import MEBIBYTE, Result

CACHE_BYTES = 256 * MEBIBYTE
OBJECTS_PER_ENCODED_BYTE = 4
"""Decoded results take about four times their encoded size (measured on graphs of 1,000 nodes)."""


class ResultCache:
    """Thread-safe; a result larger than the whole cache is not kept."""

    def __init__(self, capacity_bytes: int = CACHE_BYTES) -> None:
        self._capacity_bytes = capacity_bytes
        self._held_bytes = 0
        self._entries: OrderedDict[tuple[str, bytes], tuple[Result, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, bytes]) -> Result | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: tuple[str, bytes], result: Result, encoded_bytes: int) -> None:
        size_bytes = encoded_bytes * OBJECTS_PER_ENCODED_BYTE
        if size_bytes > self._capacity_bytes:
            return
        with self._lock:
            if key in self._entries:
                self._held_bytes -= self._entries.pop(key)[1]
            self._entries[key] = (result, size_bytes)
            self._held_bytes += size_bytes
            while self._held_bytes > self._capacity_bytes:
                self._held_bytes -= self._entries.popitem(last=False)[1][1]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._held_bytes = 0
