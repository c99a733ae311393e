"""Files made of a recorded backward pass: CSV of its steps, JSON of everything, a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from engine.figures.arrays import array
from engine.figures.csv_text import csv_text
from engine.figures.export import cell
from engine.figures.graph_report import leaf_table
from engine.figures.replay_rows import Row, accumulation_rows, hook_rows, pass_rows, step_rows
from engine.figures.report import Table, report_html
from engine.figures.units import format_significant
from engine.replay.spec import Replay
from engine.summary import TensorSummary

REPORTED_STEPS = 400
FORMAT, VERSION = "torch-atlas-replay", 1


def steps_csv(replay: Replay) -> str:
    """One row per step in the engine's order; times in s."""
    rows = step_rows(replay)
    return csv_text(list(rows[0]) if rows else ["step"], (map(cell, row.values()) for row in rows))


def replay_json(replay: Replay) -> bytes:
    """Everything but the graph, whose nodes the steps name by id; values of small gradients in full, as lists."""
    told = {"format": FORMAT, "version": VERSION, "loss": replay.loss, "plain_backward_s": replay.plain_backward_s}
    rows = {name: _builtins(getattr(replay, name)) for name in ("passes", "steps", "accumulations", "hook_calls")}
    nodes = [{"id": at, "name": name} for at, name in enumerate(replay.graph.node_names)]
    gradients = [_gradient(one) for one in replay.gradients]
    return msgspec.json.encode({**told, "nodes": nodes, **rows, "gradients": gradients})


def _builtins(rows: Sequence[msgspec.Struct]) -> list[dict[str, Any]]:
    return [{name: msgspec.to_builtins(getattr(row, name)) for name in type(row).__struct_fields__} for row in rows]


def _gradient(one: TensorSummary) -> dict[str, Any]:
    """JSON has no NaN: what is not finite is text."""
    names = [name for name in TensorSummary.__struct_fields__ if name not in ("values", "block_map")]
    told = {name: _number(getattr(one, name)) for name in names}
    if one.values is not None:
        told["values"] = [_number(value) for value in array(one.values).ravel().tolist()]
    return told


def _number(value: Any) -> Any:
    if isinstance(value, complex):
        return [_number(value.real), _number(value.imag)]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def replay_report(
    light: str, dark: str, replay: Replay, *, title: str, notes: Sequence[str], spec: str, script: str
) -> str:
    """One self-contained page around the picture in both themes: numbers, calls, accumulation, hooks, leaves, steps."""
    numbers = (
        ("steps", str(len(replay.steps))),
        ("backward() calls", str(len(replay.passes))),
        ("gradients", str(len(replay.gradients))),
    )
    several = (one for one in replay.accumulations if len(one.contributions) > 1 or one.before is not None)
    leaves = dict.fromkeys(one.leaf for one in several)
    steps = step_rows(replay)
    more = f" (the first {REPORTED_STEPS} of {len(steps)})" if len(steps) > REPORTED_STEPS else ""
    tables = (
        table("backward() calls", pass_rows(replay)),
        *(table(f"Accumulation into {leaf}", accumulation_rows(replay, leaf)) for leaf in list(leaves)[:8]),
        table("Hooks that ran", hook_rows(replay)),
        leaf_table(replay.leaves),
        table(f"Steps{more}", steps[:REPORTED_STEPS]),
    )
    said = [f"{one.error.type}: {one.error.message}" for one in replay.passes if one.error]
    kept = tuple(one for one in tables if one.rows)
    return report_html(
        light, dark, title=title, numbers=numbers, notes=(*notes, *said), tables=kept, spec=spec, script=script
    )


def table(title: str, rows: Sequence[Row]) -> Table:
    """Rows as words under their names."""
    names = tuple(rows[0]) if rows else ()
    return Table(title, names, tuple(tuple(_word(row[name]) for name in names) for row in rows))


def _word(value: Any) -> str:
    return "" if value is None else format_significant(value) if isinstance(value, float) else str(value)
