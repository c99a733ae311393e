"""convert_values and add_repeatedly: what torch makes of numbers in every floating point dtype."""

from __future__ import annotations

import math
from fractions import Fraction

import torch

from engine.number_format.adding import add_repeatedly, lost_sums
from engine.number_format.formats import FORMATS, Format, nearest, neighbours
from engine.number_format.parse import Typed
from engine.number_format.results import Formats, Limit, Outcome, Refusal, Rounding, Stored, Value
from engine.number_format.spec import NumberFormatSpec
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink

__all__ = ["add_repeatedly", "convert_values"]

INTEGERS = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}
"""Of the same size as an element: its bits are read through a view."""
ALL_NAMES = (*(one.name for one in FORMATS), "float4_e2m1fn_x2")


def convert_values(spec: NumberFormatSpec, progress: ProgressSink) -> Formats:
    """Every number in every dtype; a dtype that torch cannot convert to, with its words."""
    refused, usable = [], []
    for name in ALL_NAMES:
        dtype = getattr(torch, name, None)
        if dtype is None:  # older torch
            continue
        _, error = attempt(lambda d=dtype: torch.tensor([1.0], dtype=torch.float64).to(d).double())  # type: ignore[misc]
        if error is not None:
            refused.append(Refusal(dtype=name, error=error))
        else:
            usable.append(next(one for one in FORMATS if one.name == name))
    progress("converting", 0.5)
    return Formats(
        values=tuple(
            Value(
                text=one.text,
                value=one.value,
                stored=tuple(_stored(one, layout, spec.scale) for layout in usable),
            )
            for one in spec.typed
        ),
        limits=tuple(_limit(layout) for layout in usable),
        refused=tuple(refused),
        sums=tuple(one for layout in usable for one in lost_sums(layout)),
    )


def _stored(typed: Typed, layout: Format, scale: float) -> Stored:
    dtype: torch.dtype = getattr(torch, layout.name)
    source = torch.tensor([typed.value], dtype=torch.float64)
    found = source.to(dtype)
    bits, value = bits_of(found), float(found.double())
    is_number = layout.special(bits) == "finite"
    below, above = neighbours(layout, bits) if is_number else (None, None)
    here = layout.value(bits) if is_number else None
    further = below if value < 0 else above
    nearer = above if value < 0 else below
    gap = None if here is None else abs(further - here) if further is not None else abs(here - (nearer or here))
    return Stored(
        dtype=layout.name,
        value=value,
        bits=f"0x{bits:0{layout.bits // 4}x}",
        below=None if below is None else float(below),
        above=None if above is None else float(above),
        spacing=None if gap is None else float(gap),
        relative_error=_relative_error(here, typed.exact),
        outcome=_outcome(typed, layout, bits),
        rounding=_rounding(typed, layout, bits),
        scaled_back=float((source * scale).to(dtype).float() / scale),
    )


def bits_of(element: torch.Tensor) -> int:
    """The bits of a tensor with one element, as a whole number from 0."""
    return int(element.view(INTEGERS[element.element_size()]).item())


def _relative_error(here: Fraction | None, exact: Fraction | None) -> float | None:
    """|stored - typed| / |typed| in exact arithmetic; None for 0, inf and nan."""
    if here is None or exact is None or exact == 0:
        return None
    error = abs(here - exact) / abs(exact)
    try:
        return float(error)
    except OverflowError:
        return math.inf


def _outcome(typed: Typed, layout: Format, bits: int) -> Outcome:
    special = layout.special(bits)
    if special != "finite":
        return "nan" if special == "nan" else "inf"
    value = layout.value(bits)
    if typed.value < 0 < value:
        return "sign lost"
    if value == 0:
        return "zero"
    if typed.value == 0:
        return "no zero"
    if abs(value) == layout.largest and _is_beyond(layout, typed.value):
        return "saturated"
    return "subnormal" if abs(value) < layout.smallest_normal else "normal"


def _is_beyond(layout: Format, value: float) -> bool:
    """Whether rounding to nearest goes past the largest number."""
    return _nearest_of(layout, value) is None


def _rounding(typed: Typed, layout: Format, bits: int) -> Rounding:
    """Which exact rule gives torch's bits: nearest even of the number as typed, of its float64, or of its float32."""
    is_number = layout.special(bits) == "finite"
    if typed.exact is None or (not is_number and nearest(layout, typed.exact) is None):
        return "not finite"
    if is_number and layout.value(bits) == typed.exact:
        return "exact"
    if nearest(layout, typed.exact) == bits:
        return "nearest even"
    wanted = bits if is_number else None
    if is_number and _is_beyond(layout, typed.value):
        return "beyond the largest"
    if _nearest_of(layout, typed.value) == wanted:
        return "by way of float64"
    through = float(torch.tensor(typed.value, dtype=torch.float64).float())
    return "by way of float32" if _nearest_of(layout, through) == wanted else "other"


def _nearest_of(layout: Format, value: float) -> int | None:
    """Bits of the nearest number; None beyond the largest and for inf."""
    return nearest(layout, Fraction(value)) if math.isfinite(value) else None


def _limit(layout: Format) -> Limit:
    dtype: torch.dtype = getattr(torch, layout.name)
    info = torch.finfo(dtype)
    tried = {
        "inf": math.inf,
        "-inf": -math.inf,
        "nan": math.nan,
        "2 * max": float(2 * layout.largest) if layout.bits < 64 else math.inf,
        "smallest / 2": float(layout.smallest / 2),
        "-0.0": -0.0,
        "-1.0": -1.0,
    }
    made = {name: torch.tensor([value], dtype=torch.float64).to(dtype).double().item() for name, value in tried.items()}
    return Limit(
        dtype=layout.name,
        largest=info.max,
        smallest_normal=info.smallest_normal,
        eps=info.eps,
        bits=info.bits,
        beyond=tuple(made.items()),
    )
