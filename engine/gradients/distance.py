"""How far two gradients are apart, in float64."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from engine.gradients.leaves import bits, wide
from engine.gradients.results import Distance
from engine.summarise import summarise


class Sums:
    """Products and squares summed over leaves: what the distance of everything as one vector needs."""

    def __init__(self) -> None:
        self.dot = self.squares_a = self.squares_b = self.squares_difference = self.largest = 0.0
        self.identical = True

    def add(self, a: torch.Tensor, b: torch.Tensor, identical: bool) -> None:
        """One pair of float64 vectors."""
        difference = b - a
        self.dot += float(a @ b)
        self.squares_a += float(a @ a)
        self.squares_b += float(b @ b)
        self.squares_difference += float(difference @ difference)
        largest = float(difference.abs().max()) if difference.numel() else 0.0
        self.largest = largest if math.isnan(largest) else self.largest if self.largest > largest else largest
        self.identical = self.identical and identical

    def distance(self, name: str, **told: object) -> Distance:
        """Of everything added."""
        norm_a, norm_b, apart = (math.sqrt(x) for x in (self.squares_a, self.squares_b, self.squares_difference))
        return Distance(
            name=name,
            norm_a=norm_a,
            norm_b=norm_b,
            cosine=1.0 if self.identical and norm_a > 0 else _cosine(self.dot, norm_a, norm_b),
            relative=apart / norm_a if norm_a else (0.0 if apart == 0 else math.inf),
            max_abs=self.largest,
            identical=self.identical,
            **told,  # type: ignore[arg-type]
        )


def _cosine(dot: float, norm_a: float, norm_b: float) -> float | None:
    if not norm_a * norm_b:
        return None
    return max(-1.0, min(1.0, dot / norm_a / norm_b)) if math.isfinite(dot) else math.nan


def distance(name: str, a: torch.Tensor, b: torch.Tensor, sums: Sums, *, detail: bool = True) -> Distance:
    """Of gradient b from a of the same shape; adds to `sums`."""
    one, other, own = wide(a), wide(b), Sums()
    identical = a.dtype == b.dtype and torch.equal(bits(a), bits(b))
    own.add(one, other, identical)
    sums.add(one, other, identical)
    shaped = (other - one).reshape((*a.shape, 2) if a.is_complex() else a.shape)
    difference = torch.view_as_complex(shaped) if a.is_complex() else shaped
    return own.distance(
        name,
        shape=tuple(a.shape),
        dtype_a=_dtype(a),
        dtype_b=_dtype(b),
        difference=summarise(difference) if detail else None,
    )


def distances(
    a: Mapping[str, torch.Tensor | None],
    b: Mapping[str, torch.Tensor | None],
    *,
    names: tuple[str, str] = ("A", "B"),
    detail: bool = True,
) -> tuple[tuple[Distance, ...], Distance]:
    """By leaf in the order of a, then what only b has; and of all leaves with a gradient in both."""
    sums, rows = Sums(), []
    for name in dict.fromkeys([*a, *b]):
        one, other = a.get(name), b.get(name)
        if one is None or other is None or one.shape != other.shape or one.is_complex() != other.is_complex():
            rows.append(Distance(name=name, missing=_missing(one, other, names)))
        else:
            rows.append(distance(name, one, other, sums, detail=detail))
    return tuple(rows), sums.distance("all leaves")


def _missing(one: torch.Tensor | None, other: torch.Tensor | None, names: tuple[str, str]) -> str:
    if one is None or other is None:
        without = [name for name, grad in zip(names, (one, other), strict=True) if grad is None]
        return f"no gradient in {' and '.join(without)}"
    return f"{tuple(one.shape)} in {names[0]}, {tuple(other.shape)} in {names[1]}"


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
