"""Drawings of single frames, kept: opening one group draws only it and the frames around it anew; and a time limit."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from engine.figures.layout import lay_out
from engine.figures.level import Drawing, Level, OutOfTime

KEPT = 256
"""Drawings kept; a picture has one per open group."""
LARGEST = 2000
"""Items of a frame whose drawing is still kept, which bounds the memory to about 100 MB."""

Clock = Callable[[], float]

_kept: OrderedDict[Level, Drawing] = OrderedDict()
_lock = Lock()


class Deadline:
    """Raises `OutOfTime` when called after `seconds`.

    By default of this thread's processor time: what else runs on the machine must not change the picture.
    """

    def __init__(self, seconds: float, clock: Clock = time.thread_time) -> None:
        self._clock, self._end = clock, clock() + seconds

    def __call__(self) -> None:
        if self._clock() > self._end:
            raise OutOfTime


def drawing_of(level: Level, deadline: Callable[[], None]) -> Drawing:
    """The drawing of a level with tuples for sizes and links; OutOfTime when it is not done in time."""
    with _lock:
        if level in _kept:
            _kept.move_to_end(level)
            return _kept[level]
    drawing = lay_out(level, deadline)
    if len(level.sizes) <= LARGEST:
        with _lock:
            _kept[level] = drawing
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
    return drawing


def forget() -> None:
    """Drop all kept drawings."""
    with _lock:
        _kept.clear()
