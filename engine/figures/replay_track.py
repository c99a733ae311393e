"""A recorded backward pass as columns beside the picture: what the canvas plays without asking the app again.

Everything is by node and by edge of the whole graph, so one track fits every way the graph is folded: the canvas knows
which box shows a node and which wire carries an edge.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from engine.figures.palette import SEQUENTIAL
from engine.figures.replay_words import NOTHING, Flow, combined, received_words, step_notes
from engine.figures.units import format_significant
from engine.replay.spec import Replay, Step
from engine.runner.contract import Array

KINDS = ("node", "accumulate", "recompute")
"""`Step.kind` by its number in the column `step_kind`."""


class Shade(msgspec.Struct, frozen=True):
    """One step of the scale of norms: its colour per theme, the largest norm it stands for, and that in words."""

    light: str
    dark: str
    top: float
    stop: str


UNDERFLOWN = Shade(*SEQUENTIAL[3], 0.0, "0")
"""For gradients that are not 0 but too small for any norm of theirs to be above 0."""


class ReplayTrack(msgspec.Struct, frozen=True, kw_only=True):
    """Columns over steps: `step_place` (node to light, -1 for none), `step_kind`, `step_pass`, `step_thread`,
    `step_name step_module step_received step_note` (numbers into `tables`), `step_state step_norm` of what came in,
    `step_begun step_took` in s (NaN: raised), `step_flows` (steps + 1: where the flows of each begin).

    Over flows, the gradients that a step sent along an edge: `flow_edge` (number among edges that lead somewhere),
    `flow_state` (a `Flow`) and `flow_norm`. `least` is the smallest norm above 0, `passes` are (number, first, last,
    error in words), `total_s` the time of all passes. `stamp` tells two recordings apart.
    """

    tables: dict[str, tuple[str, ...]]
    columns: dict[str, Array]
    passes: tuple[tuple[int, int, int, str], ...]
    scale: tuple[Shade, ...]
    least: str
    states: tuple[int, ...]
    total_s: float
    stamp: str
    recomputes: bool = False
    """Whether a forward ran again during backward."""
    start: int = -1
    """The step to show first, -1 for the last one."""
    asked: int = 0
    """Counts how often the page asked for a step: at another number the canvas goes to `start` again."""

    def told(self) -> dict[str, Any]:
        """All but the columns, for the canvas."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "columns"}


def replay_track(replay: Replay, start: int = -1) -> ReplayTrack:
    """The track of a recorded backward pass; linear in steps and gradients."""
    tables: dict[str, tuple[str, ...]] = {}
    columns = _step_columns(replay, tables)
    flows = [_flows(replay, step, edges) for edges in (_edge_numbers(replay),) for step in replay.steps]
    columns["step_flows"] = _packed(np.cumsum([0, *map(len, flows)]), "uint32")
    every = [flow for of_step in flows for flow in of_step]
    columns["flow_edge"] = _packed([edge for edge, _, _ in every], "uint32")
    columns["flow_state"] = _packed([state for _, state, _ in every], "uint8")
    columns["flow_norm"] = _packed([norm for _, _, norm in every], "float64")
    norms = [norm for _, state, norm in every if state in (Flow.FINITE, Flow.NON_FINITE) and norm > 0]
    finite = any(state == Flow.FINITE for _, state, _ in every)
    return ReplayTrack(
        tables=tables,
        columns=columns,
        passes=tuple((one.number, one.first, one.last, _error(one.error)) for one in replay.passes),
        scale=shades(norms) if norms or not finite else (UNDERFLOWN,),
        least=format_significant(min(norms)) if norms else "",
        states=tuple(sorted({int(state) for _, state, _ in every})),
        total_s=sum(one.duration_s for one in replay.passes),
        stamp=_stamp(tables, columns),
        recomputes=any(step.kind == "recompute" for step in replay.steps),
        start=start,
    )


def shades(norms: Sequence[float]) -> tuple[Shade, ...]:
    """Steps of equal width on a logarithmic scale from the smallest to the largest of these norms, all above 0."""
    if not norms:
        return ()
    low, high = math.log2(min(norms)), math.log2(max(norms))
    colours = SEQUENTIAL[1:] if high > low else SEQUENTIAL[3:4]
    width = (high - low) / len(colours)
    tops = [*(2.0 ** (low + width * (number + 1)) for number in range(len(colours) - 1)), max(norms)]
    return tuple(
        Shade(*colour, top, format_significant(top, 3 if 1e-4 <= top < 1e6 else 2))
        for colour, top in zip(colours, tops, strict=True)
    )


def _step_columns(replay: Replay, tables: dict[str, tuple[str, ...]]) -> dict[str, Array]:
    steps = replay.steps
    notes = step_notes(replay)
    received = [combined(replay, step.received) for step in steps]
    words = [received_words(replay, step) for step in steps]
    columns = {
        "step_place": _packed(_places(steps), "int32"),
        "step_kind": _packed([KINDS.index(step.kind) for step in steps], "uint8"),
        "step_pass": _packed([step.pass_number for step in steps], "uint8"),
        "step_thread": _packed([min(step.thread, 255) for step in steps], "uint8"),
        "step_state": _packed([state for state, _ in received], "uint8"),
        "step_norm": _packed([norm for _, norm in received], "float64"),
        "step_begun": _packed([step.begun_s for step in steps], "float64"),
        "step_took": _packed([math.nan if step.duration_s is None else step.duration_s for step in steps], "float64"),
    }
    texts: dict[str, Iterable[str]] = {
        "name": (step.name for step in steps),
        "module": (step.module for step in steps),
        "received": words,
        "note": (notes.get(step.number, "") for step in steps),
    }
    for name, column in texts.items():
        tables[name], columns[f"step_{name}"] = _coded(column)
    return columns


def _places(steps: Sequence[Step]) -> list[int]:
    """The node each step lights: its own; of what ran inside of another step's backward, the one of that step."""
    places = [-1 if step.node is None else step.node for step in steps]
    for number in (number for number, place in enumerate(places) if place < 0):
        around = steps[number]
        while around.node is None and around.inside is not None:
            around = steps[around.inside]
        places[number] = _nearest(steps, number) if around.node is None else around.node
    return places


def _nearest(steps: Sequence[Step], number: int) -> int:
    """The nearest node of the same pass inside of the module of this step: later ones first, else earlier ones."""
    step = steps[number]

    def inside(other: Step) -> bool:
        return other.node is not None and f"{other.module}.".startswith(f"{step.module}." if step.module else "")

    ways: tuple[Iterable[Step], ...] = (steps[number + 1 :], reversed(steps[:number]))
    tests: tuple[Callable[[Step], bool], ...] = (inside, lambda other: other.node is not None)
    for test in tests:
        for way in ways:
            for other in way:
                if other.pass_number != step.pass_number:
                    break
                if test(other):
                    return other.node if other.node is not None else -1
    return -1


def _edge_numbers(replay: Replay) -> dict[tuple[int, int], int]:
    """(source, output_nr) -> number among the edges that lead somewhere, as `GraphIndex` counts them."""
    graph = replay.graph
    leading = np.flatnonzero(graph.edge_targets >= 0)
    ends = zip(graph.edge_sources[leading].tolist(), graph.edge_output_nrs[leading].tolist(), strict=True)
    return {end: number for number, end in enumerate(ends)}


def _flows(replay: Replay, step: Step, edges: dict[tuple[int, int], int]) -> list[tuple[int, int, float]]:
    """(edge, state, norm) of every gradient, also of one that is None, that this step sent along an edge."""
    if step.node is None or step.duration_s is None:
        return []
    found = []
    for output_nr, gradient in enumerate(step.returned):
        edge = edges.get((step.node, output_nr))
        if edge is not None:
            found.append((edge, *combined(replay, (gradient,))))
    return found


def _error(error: Any) -> str:
    return "" if error is None else f"{error.type}: {error.message.splitlines()[0] if error.message else ''}"


def _coded(texts: Iterable[str]) -> tuple[tuple[str, ...], Array]:
    known: dict[str, int] = {"": 0}
    codes = [known.setdefault(text, len(known)) for text in texts]
    return tuple(known), _packed(codes, "uint32")


def _packed(values: Any, dtype: str) -> Array:
    column = np.asarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return Array(dtype, column.shape, column.tobytes())


def _stamp(tables: dict[str, tuple[str, ...]], columns: dict[str, Array]) -> str:
    """Of what ran and what flowed; of the same backward recorded again the times differ, and the stamp with them."""
    digest = hashlib.blake2b(msgspec.json.encode(tables), digest_size=8)
    for column in columns.values():
        digest.update(column.data)
    return digest.hexdigest()


__all__ = ["KINDS", "NOTHING", "ReplayTrack", "Shade", "replay_track", "shades"]
