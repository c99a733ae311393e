"""The blocks of a memory trace as columns, and what was alive at a moment: numbers only, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from engine.graph.columns import Coded, Integers, coded, column, integers, optional, optional_column
from engine.graph.rows import Row, Source
from engine.runner.contract import Array

Category = Literal[
    "parameter",
    "buffer",
    "input",
    "saved",
    "recomputed",
    "output",
    "gradient",
    "optimizer_state",
    "temporary",
]
"""Told from hindsight, one per block until backward frees what saved it; the first that holds, in the order of
PRECEDENCE: parameter, buffer, input (targets too), optimizer_state, gradient (it is, or becomes, a `.grad`), recomputed
(brought back by a forward that a checkpoint runs again), saved (some node's saved tensor), output (reached from the
model's outputs or the loss and saved by none), temporary (everything else: intermediates, gradients on their way,
working space of a kernel). A saved block that outlives its graph counts as output or temporary from then on.
"""
CATEGORIES: tuple[Category, ...] = Category.__args__  # type: ignore[attr-defined]
PRECEDENCE: tuple[Category, ...] = (
    "parameter",
    "buffer",
    "input",
    "optimizer_state",
    "gradient",
    "recomputed",
    "saved",
    "output",
    "temporary",
)


class Held(Row, frozen=True, array_like=True, gc=False):
    """One block as a row: `bytes` as the allocator counted them, alive from event `born` up to before `died`.

    `died` is -1 where it outlived the run. `operation` is the dispatched operation that allocated it ("aten::addmm"),
    `module` and `source` where the forward stood then (in backward: where the node's forward stood), `name` what a
    reader calls it ("blocks.0.linear.weight", "GeluBackward0.self", "output"), `holders` everything that refers to
    its storage ("GeluBackward0.self", "output", "blocks.0.linear.weight.grad"). shape None: no tensor was seen in it.
    From event `released` on no node has it saved any more and it counts as `afterwards`: the last event of the backward
    (or of the step) that freed its last saved slot, not the node's own end. -1 and None for all other blocks.
    """

    bytes: int
    born: int
    died: int
    category: Category
    name: str
    shape: tuple[int, ...] | None
    dtype: str
    module: str
    operation: str
    source: Source | None
    holders: tuple[str, ...]
    afterwards: Category | None = None
    released: int = -1

    def category_at(self, event: int) -> Category:
        """What it counts as after `event`."""
        return self.category if self.afterwards is None or event < self.released else self.afterwards


_CODED = Held.__struct_fields__[3:-1]


class Blocks(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """`Held` rows as columns, in order of birth; `died` and `released` may be missing."""

    bytes: Array
    born: Array
    died: Array
    category: Coded[Category]
    name: Coded[str]
    shape: Coded[tuple[int, ...] | None]
    dtype: Coded[str]
    module: Coded[str]
    operation: Coded[str]
    source: Coded[Source | None]
    holders: Coded[tuple[str, ...]]
    afterwards: Coded[Category | None]
    released: Array

    def __len__(self) -> int:
        return self.bytes.shape[0]

    def __getitem__(self, index: int) -> Held:
        return Held(
            int(self.sizes[index]),
            int(self.births[index]),
            int(self.deaths[index]),
            *(*(self._cell(name, index) for name in _CODED), int(self.releases[index])),
        )

    def _cell(self, name: str, index: int) -> Any:
        return self._values[name][index]

    @cached_property
    def _values(self) -> dict[str, list[Any]]:
        return {name: getattr(self, name).values() for name in _CODED}

    @cached_property
    def sizes(self) -> Integers:
        return integers(self.bytes)

    @cached_property
    def births(self) -> Integers:
        return integers(self.born)

    @cached_property
    def deaths(self) -> Integers:
        """-1 where the block outlived the run."""
        return optional(self.died)

    @cached_property
    def categories(self) -> Integers:
        """Place of every block's category in CATEGORIES, before it is released."""
        return _places(self.category)

    @cached_property
    def releases(self) -> Integers:
        """-1 where the block keeps its category."""
        return optional(self.released)

    def categories_at(self, event: int) -> Integers:
        """Place in CATEGORIES of what every block counts as after `event`."""
        is_released = (self.releases >= 0) & (self.releases <= event)
        return np.where(is_released, self._afterwards, self.categories)

    @cached_property
    def _afterwards(self) -> Integers:
        return _places(self.afterwards)

    def alive_at(self, event: int) -> Integers:
        """Indices of the blocks alive after `event`, largest first."""
        alive = np.flatnonzero((self.births <= event) & ((self.deaths > event) | (self.deaths < 0)))
        return alive[np.argsort(-self.sizes[alive], kind="stable")]

    def live_bytes(self, events: int) -> npt.NDArray[np.int64]:
        """(len(CATEGORIES), events): bytes of every category alive after each event."""
        change = np.zeros((len(CATEGORIES), events + 1), dtype=np.int64)
        np.add.at(change, (self.categories, self.births), self.sizes)
        released = self.releases >= 0
        again = self.sizes[released]
        np.subtract.at(change, (self.categories[released], self.releases[released]), again)
        np.add.at(change, (self._afterwards[released], self.releases[released]), again)
        gone, at_last = self.deaths >= 0, self.categories_at(events)
        np.subtract.at(change, (at_last[gone], self.deaths[gone]), self.sizes[gone])
        live: npt.NDArray[np.int64] = change[:, :events].cumsum(axis=1)
        return live


def _places(column: Coded[Any]) -> Integers:
    """Place in CATEGORIES of every cell, -1 for None."""
    places = np.array([-1 if one is None else CATEGORIES.index(one) for one in column.table], dtype=np.int64)
    return places[column.places()] if len(places) else np.zeros(0, np.int64)


def pack_blocks(rows: Sequence[Held]) -> Blocks:
    """The rows as columns."""
    texts = {name: coded([getattr(row, name) for row in rows]) for name in _CODED}
    return Blocks(
        bytes=column([row.bytes for row in rows]),
        born=column([row.born for row in rows]),
        died=optional_column([None if row.died < 0 else row.died for row in rows]),
        released=optional_column([None if row.released < 0 else row.released for row in rows]),
        **texts,
    )
