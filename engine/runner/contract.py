"""What a spec, a result and a fault are: the torch-free contract between pages, engine and worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, get_args, get_origin, get_type_hints

import msgspec
from typing_extensions import TypeVar

GIBIBYTE = 1 << 30
MEBIBYTE = 1 << 20

Need = Literal["compiler", "loopback", "processes", "accelerator"]
"""What a spec may ask of the sandbox beyond plain computation.

`accelerator` lifts the address-space limit, because a GPU driver reserves far more than it uses.
"""

ProgressSink = Callable[[str, float], None]
"""`progress(stage, fraction)`: stage in words, fraction 0..1 of the whole job."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one job may use; memory_bytes is on top of the preloaded worker's own."""

    wall_s: float = 60.0
    cpu_s: int = 120
    memory_bytes: int = 4 * GIBIBYTE
    file_bytes: int = 256 * MEBIBYTE
    result_bytes: int = 48 * MEBIBYTE
    threads: int = 1


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every result: plain values only; compares with ==, hashes and caches."""


class Array(msgspec.Struct, frozen=True):
    """A dense column or tensor as data: numpy dtype name, shape, little-endian C-order bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Predicted peak of a job, worked out on device="meta" before it runs; always "estimated"."""

    predicted_bytes: int
    what: str
    remedy: str = ""
    """What to make smaller when it is refused; by default the parts of a model."""


R = TypeVar("R", bound=Result, default=Result, covariant=True)


class Spec(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """Base of every spec: validates its ranges itself and names the verb that computes it.

    A spec of `engine/<topic>/spec.py` is computed by `verb(spec, progress)` in
    `engine/<topic>/experiment.py`, which may also define `price(spec) -> Price`.
    Written `class GraphSpec(Spec[Traced])`, so that `run(GraphSpec())` is known to return a Traced.
    """

    verb: ClassVar[str]
    result: ClassVar[type[Result]]
    needs: ClassVar[frozenset[Need]] = frozenset()
    measured: ClassVar[bool] = False
    limits: ClassVar[Limits] = Limits()

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def on_the_way(self) -> Self | None:
        """The same asking for less, whose result the verb has first and passes to `hand_over`; None for most."""
        return None


def hand_over(progress: ProgressSink, make: Callable[[], Result]) -> None:
    """Send the result of the spec's `on_the_way` ahead; it is not made where nobody waits for it (inline runs)."""
    if (send := getattr(progress, "hand_over", None)) is not None:
        send(make())


def check_ranges(value: msgspec.Struct) -> None:
    """Raise ValueError for a field outside its declared range or choices: what, limit, received, remedy."""
    for name, allowed in field_ranges(type(value)).items():
        complaint = _complaint(getattr(value, name), allowed)
        if complaint:
            raise ValueError(f"{type(value).__name__}.{name} {complaint}")


def _complaint(received: Any, allowed: FieldRange) -> str:
    if allowed.choices:
        listed = ", ".join(map(repr, allowed.choices))
        return (
            ""
            if received in allowed.choices
            else f"must be one of {listed}; received {received!r}. Choose one of these."
        )
    low, high = allowed.low, allowed.high
    if low is None and high is None:
        return ""
    if isinstance(received, bool) or not isinstance(received, int | float):
        return f"must be a number; received {received!r}. Pass a plain int or float."
    if (low is None or received >= low) and (high is None or received <= high):
        return ""
    return f"must be between {low} and {high}; received {received!r}. Choose a value inside the range."


class FieldRange(msgspec.Struct, frozen=True):
    """What a field accepts: a list of choices, or a numeric range (None where unbounded), and its description."""

    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    description: str = ""


_RANGES: dict[type, dict[str, FieldRange]] = {}


def field_ranges(kind: type) -> dict[str, FieldRange]:
    """The declared ranges of a Struct's fields, from their `Literal` and `Meta` annotations."""
    if kind not in _RANGES:
        hints = get_type_hints(kind, include_extras=True)
        _RANGES[kind] = {name: found for name, hint in hints.items() if (found := _range_of(hint)) is not None}
    return _RANGES[kind]


def _range_of(hint: Any) -> FieldRange | None:
    if get_origin(hint) is Literal:
        return FieldRange(choices=get_args(hint))
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        for extra in extras:
            if isinstance(extra, msgspec.Meta):
                return FieldRange(low=extra.ge, high=extra.le, description=extra.description or "")
        return _range_of(inner)
    return None
