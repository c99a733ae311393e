"""One meaning, one colour, one mark: the colours of the whole product, for light and dark.

Hues start from Okabe and Ito's colour-blind safe set (jfly.uni-koeln.de/color, 2008), shifted until each accent reaches
3:1 on its background. Every meaning also has a mark (an SVG path in a 10 x 10 box), so colour never stands alone.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

import msgspec

Theme = Literal["light", "dark"]

BACKGROUND: dict[Theme, str] = {"light": "#fbfaf7", "dark": "#12151c"}
SURFACE: dict[Theme, str] = {"light": "#ffffff", "dark": "#12151c"}
"""What box fills are mixed into."""
TEXT: dict[Theme, str] = {"light": "#1f2430", "dark": "#e6e8ee"}
MUTED: dict[Theme, str] = {"light": "#566171", "dark": "#b3bdca"}
LINE: dict[Theme, str] = {"light": "#8d99a8", "dark": "#6d7a8b"}
TINT: dict[Theme, float] = {"light": 0.11, "dark": 0.22}
"""How much of the accent is mixed into the background to fill a box."""


MARKS: dict[str, str] = {
    "circle": "M5 1A4 4 0 1 1 4.99 1Z",
    "dot": "M5 2.6A2.4 2.4 0 1 1 4.99 2.6Z",
    "ring": "M5 .5A4.5 4.5 0 1 1 4.99 .5ZM5 3A2 2 0 1 0 5.01 3Z",
    "triangle": "M5 .8L9.6 9H.4Z",
    "square": "M1 1H9V9H1Z",
    "diamond": "M5 0L10 5L5 10L0 5Z",
    "hollow_diamond": "M5 0L10 5L5 10L0 5ZM5 2.6L2.6 5L5 7.4L7.4 5Z",
    "function": "M8.5 .4C5.6 -.3 4.6 1.2 4.3 3.2H2.6V4.6H4.1L3.4 8.2C3.3 8.9 2.7 9 1.7 8.7L1.4 9.9"
    "C3.5 10.4 4.6 9.6 4.9 8L5.6 4.6H7.4V3.2H5.9C6.1 1.8 6.6 1.3 8.2 1.7Z",
    "arrows": "M0 3H6V1L10 4H0ZM10 7H4V9L0 6H10Z",
    "pencil": "M7.5 0L10 2.5L3.4 9.1L0 10L.9 6.6Z",
    "bars": "M0 7.2L7.2 0H10L0 10ZM0 3L3 0H5.4L0 5.4ZM4.6 10L10 4.6V7L7 10Z",
    "loop": "M5 .5A4.5 4.5 0 1 1 .6 6H2.2A3 3 0 1 0 5 2V4.2L1.8 1.2L5 -1.6Z",
    "arrow_down": "M4 0H6V5.5H9.2L5 10L.8 5.5H4Z",
    "arrow_up": "M4 10H6V4.5H9.2L5 0L.8 4.5H4Z",
    "bolt": "M6.4 0L1 6H4.4L3.4 10L9 3.8H5.4Z",
    "chip": "M2 2H8V8H2ZM0 3H1.4V4.2H0ZM0 5.8H1.4V7H0ZM8.6 3H10V4.2H8.6ZM8.6 5.8H10V7H8.6Z",
    "hook": "M4.2 0H5.8V6.4A1.6 1.6 0 0 1 2.6 6.4V5H1V6.4A3.2 3.2 0 0 0 7.4 6.4V4.4H9L5.8 1Z",
    "cross": "M1.5 0L5 3.5L8.5 0L10 1.5L6.5 5L10 8.5L8.5 10L5 6.5L1.5 10L0 8.5L3.5 5L0 1.5Z",
    "plus": "M3.8 0H6.2V3.8H10V6.2H6.2V10H3.8V6.2H0V3.8H3.8Z",
    "minus": "M0 3.8H10V6.2H0Z",
    "disk": "M0 0H8L10 2V10H0ZM2.4 0V3H7V0ZM2 5.4V10H8V5.4Z",
    "stack": "M0 0H7V2H2V7H0ZM3 3H10V10H3Z",
    "stub": "M5 0A3.4 3.4 0 1 1 4.99 0ZM5 1.5A1.9 1.9 0 1 0 5.01 1.5ZM4.2 6.6H5.8V10H4.2Z",
    "warning": "M5 .2L10 9.6H0ZM4.2 3.4V6.5H5.8V3.4ZM4.2 7.2V8.6H5.8V7.2Z",
    "brackets": "M0 0H3.4V1.6H1.6V8.4H3.4V10H0ZM6.6 0H10V10H6.6V8.4H8.4V1.6H6.6Z",
    "two_squares": "M0 0H7V3H10V10H3V7H0ZM3 3V7H7V3Z",
    "repeat": "M0 0H4V2H2V8H4V10H0ZM10 0H6V2H8V8H6V10H10ZM4 4H6V6H4Z",
    "unequal": "M0 2H5.2L6.2 0H8L7 2H10V4H6L5.2 6H10V8H4.2L3.2 10H1.4L2.4 8H0V6H3.4L4.2 4H0Z",
    "sigma": "M1 0H9V2H4L7 5L4 8H9V10H1V8.5L4.2 5L1 1.5Z",
    "check": "M0 5.4L1.8 3.6L3.8 5.8L8.4 .8L10 2.4L3.8 9.2Z",
    "no_entry": "M5 .5A4.5 4.5 0 1 1 4.99 .5ZM2.2 4.2V5.8H7.8V4.2Z",
    "span": "M0 2H1.6V4.2H8.4V2H10V8H8.4V5.8H1.6V8H0Z",
    "ellipsis": "M0 4H2.4V6.4H0ZM3.8 4H6.2V6.4H3.8ZM7.6 4H10V6.4H7.6Z",
    "hourglass": "M1 0H9L6 5L9 10H1L4 5Z",
    "half": "M5 .5A4.5 4.5 0 1 1 4.99 .5ZM5 2A3 3 0 0 0 5 8Z",
    "question": "M2 3A3 3 0 1 1 6 5.8V7H4V4.6A1.2 1.2 0 1 0 3.8 3ZM4 8H6V10H4Z",
    "delta": "M5 .4L9.9 9.6H.1ZM5 4L2.9 8H7.1Z",
    "clock": "M5 .5A4.5 4.5 0 1 1 4.99 .5ZM4.2 2V5.8H7.6V4.3H5.8V2Z",
    "tray": "M4 0H6V4H8.6L5 7.6L1.4 4H4ZM0 8.4H10V10H0Z",
    "crossed": "M5 .5A4.5 4.5 0 1 1 4.99 .5ZM3.4 2.4L2.4 3.4L4 5L2.4 6.6L3.4 7.6L5 6"
    "L6.6 7.6L7.6 6.6L6 5L7.6 3.4L6.6 2.4L5 4Z",
    "star": "M5 0L6.4 3.5L10 3.8L7.3 6.2L8.1 10L5 8L1.9 10L2.7 6.2L0 3.8L3.6 3.5Z",
}


class Meaning(msgspec.Struct, frozen=True):
    """What a colour says: key, words for the legend, accent per theme and mark; `hatched` fills with stripes."""

    key: str
    label: str
    light: str
    dark: str
    mark: str
    hatched: bool = False

    def accent(self, theme: Theme) -> str:
        """The strong colour: stroke, stripe and mark."""
        return self.light if theme == "light" else self.dark

    def fill(self, theme: Theme) -> str:
        """The calm colour behind a label."""
        amount = TINT[theme] * (0.45 if self.key == "operation" else 1.0)
        return mix(SURFACE[theme], self.accent(theme), amount)


_MEANINGS = (
    Meaning("operation", "operation", "#5d6b7c", "#93a1b3", "square"),
    Meaning("parameter", "parameter", "#00795a", "#2fc59b", "circle"),
    Meaning("input", "input", "#0064a6", "#5aaef2", "triangle"),
    Meaning("buffer", "buffer", "#6f6500", "#cdbf4b", "ring"),
    Meaning("intermediate", "intermediate", "#5d6b7c", "#93a1b3", "diamond"),
    Meaning("view", "view", "#2688b0", "#7fd0ee", "hollow_diamond"),
    Meaning("custom_function", "custom Function", "#b03a7c", "#ee8fc1", "function"),
    Meaning("copy_slices", "in-place write into a view", "#8a5620", "#d6a065", "pencil"),
    Meaning("copy", "dtype or device copy", "#a86a00", "#f0ac33", "arrows"),
    Meaning("checkpoint", "checkpoint", "#c04a00", "#ff8b4d", "bars", hatched=True),
    Meaning("compiled", "compiled region", "#4a4fb5", "#a3a8ff", "chip"),
    Meaning("hook", "hook", "#6b4fa0", "#bba2f0", "hook"),
    Meaning("module", "module", "#3f5f86", "#86aee0", "stack"),
    Meaning("saved", "saved for backward", "#3f56b8", "#93a7ff", "disk"),
    Meaning("dropped", "dropped by checkpoint", "#c04a00", "#ff8b4d", "bars", hatched=True),
    Meaning("recomputed", "recomputed", "#a2620a", "#f5b95c", "loop"),
    Meaning("gradient", "gradient", "#7836b0", "#c796ff", "arrow_down"),
    Meaning("non_finite", "non-finite", "#c2002f", "#ff6b81", "cross"),
    Meaning("modified", "saved, then modified in place", "#c2002f", "#ff6b81", "warning"),
    Meaning("empty", "empty slot", "#5d6b7c", "#93a1b3", "stub"),
    Meaning("added", "added since A", "#007f8a", "#3fd0da", "plus"),
    Meaning("removed", "removed since A", "#a3243f", "#ff8298", "minus"),
    Meaning("changed", "changed since A", "#8a6a00", "#f0c43a", "delta"),
    Meaning("no_leaf", "no leaf of its own", "#5d6b7c", "#93a1b3", "dot"),
    Meaning("no_gradient", "leaf without a gradient", "#8a5620", "#d6a065", "ring"),
    Meaning("zero_gradient", "gradient is exactly 0", "#8a6a00", "#e6c229", "minus"),
    Meaning("gap", "memory that no index reads", "#5d6b7c", "#93a1b3", "brackets", hatched=True),
    Meaning("overlap", "memory that several indices read", "#b85300", "#ff9a52", "two_squares"),
    Meaning("duplicate", "entries that share a place", "#b03a7c", "#ee8fc1", "two_squares"),
    Meaning("stored_zero", "zero that is stored", "#6b4fa0", "#bba2f0", "ring"),
    Meaning("padding", "zero that pads a block", "#7a5c9e", "#b59ad6", "stub", hatched=True),
    Meaning("edited", "edited on purpose", "#007f8a", "#3fd0da", "pencil"),
    Meaning("kept_sparse", "sparse result", "#00795a", "#2fc59b", "square"),
    Meaning("densified", "dense result", "#b85300", "#ff9a52", "chip"),
    Meaning("scalar", "a single number", "#0064a6", "#5aaef2", "diamond"),
    Meaning("masked", "right at stored places only", "#6b4fa0", "#bba2f0", "brackets"),
    Meaning("refused", "refused with an error", "#5d6b7c", "#93a1b3", "cross"),
    Meaning("wrong", "values other than dense", "#c2002f", "#ff6b81", "star"),
    Meaning("channels_last", "writes channels_last", "#0064a6", "#5aaef2", "square"),
    Meaning("contiguous", "writes contiguous", "#b85300", "#ff9a52", "circle"),
    Meaning("other_strides", "writes other strides", "#8a6a00", "#e6c229", "diamond"),
    Meaning("no_image", "no image, or order not told", "#5d6b7c", "#93a1b3", "chip"),
    Meaning("format_lost", "channels_last lost", "#c2002f", "#ff6b81", "bolt"),
    Meaning("format_gained", "channels_last gained", "#00795a", "#2fc59b", "arrow_up"),
    Meaning("format_copy", "copies", "#8a5620", "#d6a065", "stack"),
    Meaning("hidden_copy", "reorders inside its kernel", "#6b4fa0", "#bba2f0", "loop"),
    Meaning("stretched", "same memory again (stride 0)", "#2688b0", "#7fd0ee", "repeat", hatched=True),
    Meaning("conflict", "sizes that do not fit", "#c2002f", "#ff6b81", "unequal"),
    Meaning("summed", "summed over", "#a86a00", "#f0ac33", "sigma", hatched=True),
    Meaning("claim_holds", "holds", "#00795a", "#2fc59b", "check"),
    Meaning("claim_sometimes", "holds only when", "#a86a00", "#f0ac33", "half"),
    Meaning("claim_fails", "does not hold", "#c2002f", "#ff6b81", "no_entry"),
    Meaning("claim_open", "not decided", "#6b4fa0", "#bba2f0", "question"),
    Meaning("claim_impossible", "could not run here", "#5d6b7c", "#93a1b3", "hourglass"),
    Meaning("claimed", "claimed range", "#0064a6", "#5aaef2", "span"),
    Meaning("written", "written in place: version + 1", "#8a5620", "#d6a065", "arrow_up"),
    Meaning("overwritten", "saved, then overwritten unnoticed", "#b03a7c", "#ee8fc1", "unequal"),
    Meaning("gradient_passes", "gradient passes, .grad keeps none", "#8a5cb0", "#d6b6f2", "half"),
    Meaning("not_asked", "requires no gradient", "#5d6b7c", "#93a1b3", "ellipsis"),
    Meaning("output", "output", "#2b3441", "#dfe5ee", "star"),
    Meaning("optimizer_state", "optimizer state", "#a83a78", "#f0a6cf", "plus"),
    Meaning("temporary", "temporary", "#5d6b7c", "#93a1b3", "clock"),
    Meaning("moved_away", "saved, moved off the device", "#2688b0", "#7fd0ee", "tray"),
    Meaning("representable", "normal number", "#00795a", "#2fc59b", "span"),
    Meaning("subnormal", "subnormal: fewer digits", "#007f8a", "#3fd0da", "half"),
    Meaning("underflow", "rounds to 0", "#b85300", "#ff9a52", "arrow_down"),
    Meaning("overflow", "beyond the largest number", "#c2002f", "#ff6b81", "triangle"),
    Meaning("allocated", "allocated", "#0064a6", "#5aaef2", "arrow_up"),
    Meaning("freed", "freed", "#b85300", "#ff9a52", "dot"),
    Meaning("skipped", "skipped step", "#c04a00", "#ff8b4d", "no_entry"),
    Meaning("gradients_differ", "gradients differ from off", "#c2002f", "#ff6b81", "crossed"),
)

PALETTE: dict[str, Meaning] = {meaning.key: meaning for meaning in _MEANINGS}

CATEGORICAL: tuple[tuple[str, str], ...] = (
    ("#0064a6", "#5aaef2"),
    ("#b85300", "#ff9a52"),
    ("#00795a", "#2fc59b"),
    ("#a83a78", "#ee8fc1"),
    ("#8a6a00", "#e6c229"),
    ("#2688b0", "#7fd0ee"),
    ("#6b4fa0", "#bba2f0"),
    ("#5d6b7c", "#93a1b3"),
)
"""(light, dark) accents for names without a meaning of their own: dtypes, modules, lines of a chart."""

SEQUENTIAL: tuple[tuple[str, str], ...] = (
    ("#8093a8", "#6f8196"),
    ("#6487b5", "#6d92c9"),
    ("#4a78c0", "#79a8f0"),
    ("#3a62b5", "#93b9ff"),
    ("#33489f", "#b3ccff"),
    ("#2b2f80", "#d5e2ff"),
)
"""(light, dark) from few to many bytes; darker on light, lighter on dark."""

DIVERGING: tuple[tuple[str, str], tuple[str, str]] = (("#b85300", "#ff9a52"), ("#0064a6", "#5aaef2"))
"""(light, dark) of the most negative and of the most positive value; the middle is the ground."""

_ADDRESS_ANCHORS: dict[Theme, tuple[tuple[float, float, float], ...]] = {
    "light": (
        (0.93, 0.095, 108.0),
        (0.80, 0.125, 160.0),
        (0.62, 0.115, 220.0),
        (0.46, 0.135, 262.0),
        (0.32, 0.13, 290.0),
    ),
    "dark": ((0.36, 0.13, 290.0), (0.48, 0.135, 262.0), (0.63, 0.115, 220.0), (0.80, 0.125, 160.0), (0.94, 0.1, 108.0)),
}
"""Lightness, chroma and hue in OKLCH (bottosson.github.io/posts/oklab), evenly spaced from first to last address."""
ADDRESS_STEPS = 128


@cache
def address_ramp(theme: Theme) -> tuple[str, ...]:
    """Colours for the sequential scale of addresses: lightness runs one way, so the order needs no colour vision."""
    anchors = _ADDRESS_ANCHORS[theme]
    steps = []
    for step in range(ADDRESS_STEPS):
        place = step / (ADDRESS_STEPS - 1) * (len(anchors) - 1)
        index = min(int(place), len(anchors) - 2)
        low, high = anchors[index], anchors[index + 1]
        steps.append(from_oklch(*(a + (b - a) * (place - index) for a, b in zip(low, high, strict=True))))
    return tuple(steps)


def from_oklch(lightness: float, chroma: float, hue: float) -> str:
    """An OKLCH colour (hue in degrees) as "#rrggbb"; chroma is lowered until it exists in sRGB."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    if chroma > 1e-3 and not all(-1e-4 <= value <= 1.0001 for value in linear):
        return from_oklch(lightness, chroma * 0.96, hue)
    encoded = [12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055 for v in (max(0.0, x) for x in linear)]
    return "#" + "".join(f"{min(255, round(255 * value)):02x}" for value in encoded)


def text_on(fill: str) -> str:
    """Black or white, whichever reads better on `fill`; one of them always reaches 4.5:1."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, fill))


def meaning(key: str) -> Meaning:
    """The meaning called `key`; anything unknown reads as a plain operation."""
    return PALETTE.get(key, PALETTE["operation"])


def channels(colour: str) -> tuple[int, int, int]:
    """ "#rrggbb" -> (r, g, b), 0..255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(base: str, accent: str, amount: float) -> str:
    """`base` with `amount` (0..1) of `accent` in it."""
    pairs = zip(channels(base), channels(accent), strict=True)
    return "#" + "".join(f"{round(b + (a - b) * amount):02x}" for b, a in pairs)


def luminance(colour: str) -> float:
    """WCAG 2 relative luminance, 0..1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast ratio, 1..21."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)
