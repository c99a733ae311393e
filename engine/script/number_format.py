"""The scripts of the number format page: conversions to every dtype, and sums that stop growing."""

from __future__ import annotations

import math

from engine.number_format.formats import FORMATS
from engine.number_format.spec import SUMMED, NumberFormatSpec, RunningSumSpec

CONVERT = '''\
"""What numbers become in every floating point dtype of torch, in plain torch."""

import torch

INTEGERS = {{1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}}
NAMES = """{names}""".split()
for value in ({values},):
    source = torch.tensor([value], dtype=torch.float64)
    for name in NAMES:
        dtype = getattr(torch, name)
        stored = source.to(dtype)
        bits = stored.view(INTEGERS[stored.element_size()]).item()
        back = (source * {scale}).to(dtype).float() / {scale}
        print(value, name, hex(bits), stored.double().item(), "scaled and back", back.item())
for name in NAMES:
    info = torch.finfo(getattr(torch, name))
    print(name, "max", info.max, "smallest normal", info.smallest_normal, "eps", info.eps)
'''

ADD = '''\
"""A running sum in several dtypes, one addition at a time, in plain torch."""

import torch

for name in {names}:
    dtype = getattr(torch, name)
    start, addend = (torch.tensor(one, dtype=torch.float64).to(dtype) for one in ({start}, {addend}))
    total, stops_at = start, None
    for number in range(1, {count} + 1):
        try:
            following = total + addend
        except NotImplementedError:  # torch adds no float8: in float32, converted after every addition
            following = (total.float() + addend.float()).to(dtype)
        if stops_at is None and following.double() == total.double():
            stops_at = number
        total = following
    try:
        summed = torch.cat([start.reshape(1), addend.repeat({count})]).sum().double().item()
    except NotImplementedError:
        summed = None
    print(name, "total", total.double().item(), "stands still from addition", stops_at, "torch.sum", summed)
'''


def script(spec: NumberFormatSpec | RunningSumSpec) -> str:
    """Convert, or add, as the page does, and print what it shows."""
    if isinstance(spec, RunningSumSpec):
        start, addend = spec.numbers
        names = "(" + ", ".join(f'"{name}"' for name in SUMMED) + ")"
        return ADD.format(names=names, start=_literal(start.value), addend=_literal(addend.value), count=spec.count)
    values = ", ".join(_literal(one.value) for one in spec.typed)
    return CONVERT.format(names=" ".join(one.name for one in FORMATS), values=values, scale=spec.scale)


def _literal(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'
