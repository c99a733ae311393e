"""What a screenshot holds: enough to tell a drawn picture from an empty one, and a light page from a dark one."""

from __future__ import annotations

import io

from PIL import Image
from playwright.sync_api import Locator, Page

DRAWN_SHARE = 0.01
"""The smallest share of pixels that differ from the ground: a single box on a large canvas covers more."""


def look(target: Locator | Page) -> Image.Image:
    return Image.open(io.BytesIO(target.screenshot())).convert("RGB")


def drawn_share(picture: Image.Image) -> float:
    """Share of pixels that are not the most frequent colour."""
    small = picture.resize((picture.width // 2, picture.height // 2), Image.Resampling.NEAREST)
    counts = sorted(count for count, _ in small.getcolors(small.width * small.height) or [])
    return 1.0 - counts[-1] / sum(counts)


def colours(picture: Image.Image) -> int:
    return len(picture.getcolors(picture.width * picture.height) or [])


def brightness(picture: Image.Image) -> float:
    """Mean over the picture, 0 black to 1 white."""
    grey = picture.convert("L").resize((64, 64))
    return sum(grey.tobytes()) / (255 * 64 * 64)
