"""What is worked out once for all sessions: values by key, as many as a limit allows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Values by key, least recently used out first; the newest always stays. May be used from any thread."""

    def __init__(self, capacity: int, weigh: Callable[[T], int]) -> None:
        self._capacity, self._weigh = capacity, weigh
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made when it is not there; two who ask at once may both make it."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
        value = make()
        with self._lock:
            self._entries[key] = (value, self._weigh(value))
            while len(self._entries) > 1 and sum(weight for _, weight in self._entries.values()) > self._capacity:
                self._entries.popitem(last=False)
        return value
