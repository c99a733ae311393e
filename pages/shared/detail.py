"""How much of a graph a picture shows by itself, and the room it has."""

from __future__ import annotations

PICTURE_HEIGHT = 540
DETAIL = {"overview": 25, "balanced": 60, "detailed": 200, "up to 2,000": 2000}
"""Boxes that open by themselves."""
CEILING = 300
"""Boxes that may be opened by hand, where not more open by themselves."""
READABLE_AREA = (930, PICTURE_HEIGHT)
"""Pixels of the picture in a window 1280 wide: what opens by itself stays readable there, except in full detail."""
READABLE = ("overview", "balanced")
