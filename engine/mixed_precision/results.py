"""What comes back of a run under autocast: operations, casts, copies kept, errors; torch-free rows."""

from __future__ import annotations

from typing import Literal

import msgspec

Phase = Literal["forward", "loss", "backward"]
Policy = Literal["low precision", "float32", "widest", "no cast seen", "not registered"]
"""What autocast does to the inputs of an operator: to its dtype, to float32, to the widest among them, nothing seen."""
CastBy = Literal["autocast", "the model", "an operator inside", "backward of autocast", "backward"]
TensorKind = Literal["weight", "buffer", "input", "activation", "gradient"]


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that occurs once per operation: packed as an array on the wire."""


class Operation(Row, frozen=True, array_like=True, gc=False):
    """One operation that reached a kernel, in order: dtypes under autocast and in the plain run.

    `call` is the number of the call it belongs to, -1 in backward. `plain_inputs` and `plain_outputs` are None where
    the plain run has no such operation (a cast, another kernel). `saved_bytes` are of the storages it
    made that backward keeps.
    """

    number: int
    phase: Phase
    name: str
    call: int
    module: str
    node: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    plain_inputs: tuple[str, ...] | None
    plain_outputs: tuple[str, ...] | None
    output_bytes: int
    shape: tuple[int, ...]
    is_view: bool
    cast_by: CastBy | Literal[""]
    saved_bytes: int


class Call(Row, frozen=True, array_like=True, gc=False):
    """What Python called and autocast saw: `came_in` before, `ran_in` after its casts; `outputs` of its last kernel."""

    number: int
    name: str
    module: str
    phase: Phase
    policy: Policy
    came_in: tuple[str, ...]
    ran_in: tuple[str, ...]
    outputs: tuple[str, ...]
    casts: int

    @property
    def did(self) -> str:
        """What happened to its inputs, in words."""
        if self.policy == "not registered":
            return "unknown to autocast: ran in what came in"
        if self.came_in == self.ran_in:
            return "nothing to cast"
        return "cast to " + " and ".join(dict.fromkeys(b for a, b in self.changes if a != b))

    @property
    def changes(self) -> tuple[tuple[str, str], ...]:
        """(came in, ran in) of every tensor argument."""
        return tuple(zip(self.came_in, self.ran_in, strict=False))


class Cast(Row, frozen=True, array_like=True, gc=False):
    """One copy into another dtype; `tensor` names the weight, input or the call whose output was cast."""

    operation: int
    phase: Phase
    by: CastBy
    source: str
    target: str
    bytes: int
    kind: TensorKind
    tensor: str
    module: str
    call: str


class WeightCasts(msgspec.Struct, frozen=True, kw_only=True):
    """A weight in forward: calls that read a low-precision copy of it, and how often the copy was made.

    `cache_on` and `cache_off` count casts with `torch.autocast(cache_enabled=True)` and False.
    """

    name: str
    bytes: int
    uses: int
    cache_on: int
    cache_off: int
    requires_grad: bool

    @property
    def hits(self) -> int:
        """Casts that the cache saved."""
        return max(0, self.cache_off - self.cache_on)


class KeptTwice(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor alive twice until backward: the copy that autocast made is saved, and its source lives on.

    `source_lives` says why: it is saved too, or it is a parameter or an input.
    """

    tensor: str
    kind: TensorKind
    shape: tuple[int, ...]
    source: str
    source_bytes: int
    source_lives: str
    copy: str
    copy_bytes: int
    copy_saved_by: tuple[str, ...]


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """How far a tensor under autocast is from the plain run's: ||b - a|| / ||a||, 1 - cosine, max |b - a|, in float64.

    None where one has no values to compare; `missing` says why.
    """

    name: str
    dtypes: tuple[str, str] = ("", "")
    relative: float | None = None
    turned: float | None = None
    largest: float | None = None
    norm: float | None = None
    not_finite: int = 0
    """Values under autocast that are inf or nan where the plain run's are finite."""
    to_zero: int = 0
    """Values under autocast that are 0 where the plain run's are not."""
    elements: int = 0
    missing: str = ""


class LayerError(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a module: `all_before` in the whole run under autocast, `own` when it alone runs under autocast.

    For `own` it is given the plain run's inputs; None for modules that hold others. Without a number where autocast
    casts none of these inputs, while in the whole run low-precision ones come in.
    """

    path: str
    type: str
    call: int
    all_before: Apart
    own: Apart | None


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one run: storages still saved after forward and loss, each once, those of no weight, buffer or input
    (the loss's target is one), and the allocator's peak.
    """

    saved_bytes: int | None = None
    beside_leaves_bytes: int | None = None
    peak_bytes: int | None = None
    """Largest sum of what forward, loss and backward had allocated at once, weights not counted."""


class ListedOperator(msgspec.Struct, frozen=True, kw_only=True):
    """An operator that has an autocast kernel for the device, and what that did to inputs of each kind.

    Casts seen with float32 inputs, with low-precision inputs, and with the first of several in low precision.
    """

    name: str
    policy: Policy
    from_float32: tuple[str, ...]
    from_low: tuple[str, ...]
    from_mixed: tuple[str, ...]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A line of PyTorch run plain and under autocast: the dtype it gave, or what PyTorch said."""

    code: str
    plain: str
    plain_type: str
    under_autocast: str
    under_autocast_type: str

    @property
    def raises(self) -> bool:
        """Whether it is autocast that makes it raise."""
        return bool(self.under_autocast_type) and not self.plain_type


class Support(msgspec.Struct, frozen=True):
    """Whether a dtype works under autocast here, forward and backward, with PyTorch's words where not."""

    dtype: str
    works: bool
    reason: str = ""
