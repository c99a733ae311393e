"""Private torch names that counting operations needs (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

packet_of: Callable[[Any], Any] = attrgetter("_overloadpacket")
"""The operation of a dispatched overload (aten.addmm of aten.addmm.default), what torch.utils.flop_counter goes by."""
