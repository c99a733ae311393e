"""coalesce(): which entries are added up, and what goes wrong on raw values before it."""

from __future__ import annotations

import torch

from engine.pytorch_said import attempt
from engine.recorded import read_coo
from engine.sparse.build import count_entries
from engine.sparse.reading import read_layout, value_text
from engine.sparse.results import Coalesce


def read_coalesce(coo: torch.Tensor, dense: torch.Tensor) -> Coalesce:
    """Both sides of `coo.coalesce()`, and what squaring and adding make of the tensor that is not coalesced."""
    after = read_layout(coo.coalesce, "coo", dense)
    raw, raw_error = attempt(lambda: read_coo(coo)[1]() ** 2)
    square, square_error = attempt(lambda: (coo * coo).coalesce().values())
    total, sum_error = attempt(lambda: count_entries(coo + coo))
    return Coalesce(
        before=read_layout(lambda: coo, "coo", dense),
        after=after,
        summed=_summed(coo) if after.error is None else (),
        values_error=attempt(coo.values)[1],
        square_of_values=_texts(raw),
        square=_texts(square),
        square_error=raw_error or square_error,
        sum_nnz=total,
        sum_error=sum_error,
    )


def _texts(values: torch.Tensor | None) -> tuple[str, ...]:
    return () if values is None else tuple(map(value_text, values.tolist()))


def _summed(coo: torch.Tensor) -> tuple[tuple[int, ...], ...]:
    places = [tuple(place) for place in read_coo(coo)[0]().T.tolist()]
    after = [tuple(place) for place in coo.coalesce().indices().T.tolist()]
    found: dict[tuple[int, ...], list[int]] = {place: [] for place in after}
    for position, place in enumerate(places):
        found[place].append(position)
    return tuple(tuple(found[place]) for place in after)
