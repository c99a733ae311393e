"""Numbers as people read them: three significant digits, binary bytes, the time unit that fits."""

from __future__ import annotations

import math
from collections.abc import Sequence

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
MINUS = "−"


def format_significant(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits and no exponent between 1e-4 and 1e6."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - exponent)
    exponent = math.floor(math.log10(abs(rounded))) if rounded else exponent
    if exponent < -4 or exponent >= 6:
        return f"{value:.{digits - 1}e}".replace("-", MINUS)
    return f"{rounded:.{max(0, digits - 1 - exponent)}f}".replace("-", MINUS)


def format_bytes(count_bytes: float) -> str:
    """Bytes in binary units, three significant digits: 13_107_200 -> "12.5 MiB"; below 1 KiB exact."""
    size, unit = abs(float(count_bytes)), 0
    if not math.isfinite(size):
        return f"{format_significant(float(count_bytes))} B"
    while size >= 999.5 and unit < len(BYTE_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    text = f"{int(size)}" if unit == 0 and size == int(size) else format_significant(size)
    return f"{MINUS if count_bytes < 0 else ''}{text} {BYTE_UNITS[unit]}"


def format_exact_bytes(count_bytes: int) -> str:
    """Bytes to the last one, thousands apart: 13_107_200 -> "13 107 200 B"."""
    return f"{format_count(count_bytes)} B"


def format_time(time_s: float) -> str:
    """Seconds in the unit that fits: 0.00153 -> "1.53 ms"; from two minutes on "2 min 5 s"."""
    if not math.isfinite(time_s):
        return f"{format_significant(time_s)} s"
    if abs(time_s) >= 119.5:
        minutes, seconds = divmod(round(abs(time_s)), 60)
        return f"{MINUS if time_s < 0 else ''}{minutes} min {seconds} s"
    for scale, unit in TIME_UNITS:
        if abs(time_s) >= scale * 0.9995:
            return f"{format_significant(time_s / scale)} {unit}"
    return f"{format_significant(time_s / 1e-9)} ns" if time_s else "0 s"


def format_count(count: int) -> str:
    """A whole number with thin spaces between thousands: 1234567 -> "1 234 567"."""
    return f"{count:,}".replace(",", "\u202f").replace("-", MINUS)


def format_shape(shape: Sequence[int] | None) -> str:
    """A tensor shape: (4, 64) -> "4×64", (7,) -> "(7,)", () -> "scalar", None -> "symbolic"."""
    if shape is None:
        return "symbolic"
    if len(shape) == 1:
        return f"({shape[0]},)"
    return "×".join(map(str, shape)) if shape else "scalar"


def shorten(text: str, characters: int) -> str:
    """`text` on one line, at most `characters` long, cut in the middle so that both ends stay readable."""
    line = " ".join(text[: 4 * characters + 64].split()) if len(text) > 4 * characters + 64 else " ".join(text.split())
    line += " ".join(text[-characters:].split()) if len(text) > 4 * characters + 64 else ""
    if len(line) <= characters:
        return line
    head = (characters - 1) // 2
    return f"{line[:head]}…{line[len(line) - (characters - 1 - head) :]}"
