"""The rows of the mixed precision page as tables, for the page and for files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from engine.figures.mixed_precision_words import dtypes_words, layer_name, measured_calls, trial_words
from engine.figures.units import format_shape
from engine.mixed_precision.results import Apart
from engine.mixed_precision.spec import AutocastLists, AutocastMap


def operations_table(found: AutocastMap) -> pd.DataFrame:
    """Every operation that reached a kernel, in order."""
    rows = found.operations
    calls = {call.number: call for call in found.calls}
    return pd.DataFrame(
        {
            "#": [row.number for row in rows],
            "phase": [row.phase for row in rows],
            "operation": [row.name for row in rows],
            "called by": [calls[row.call].name if row.call in calls else row.node for row in rows],
            "module": [row.module for row in rows],
            "in": [dtypes_words(row.inputs) for row in rows],
            "out": [dtypes_words(row.outputs) for row in rows],
            "plain in": [_plain(row.plain_inputs) for row in rows],
            "plain out": [_plain(row.plain_outputs) for row in rows],
            "cast by": [row.cast_by for row in rows],
            "shape": [format_shape(row.shape) for row in rows],
            "bytes": [row.output_bytes for row in rows],
            "saved bytes": [row.saved_bytes for row in rows],
        }
    )


def _plain(dtypes: tuple[str, ...] | None) -> str:
    return "no such operation" if dtypes is None else dtypes_words(dtypes)


def casts_table(found: AutocastMap) -> pd.DataFrame:
    """Every cast, in order."""
    rows = found.casts
    return pd.DataFrame(
        {
            "#": [row.operation for row in rows],
            "phase": [row.phase for row in rows],
            "asked for by": [row.by for row in rows],
            "for": [row.call for row in rows],
            "module": [row.module for row in rows],
            "from": [row.source for row in rows],
            "to": [row.target for row in rows],
            "of a": [row.kind for row in rows],
            "tensor": [row.tensor for row in rows],
            "bytes": [row.bytes for row in rows],
        }
    )


def weights_table(found: AutocastMap) -> pd.DataFrame:
    """Every weight that was cast, with the cache on and off."""
    rows = found.weights
    return pd.DataFrame(
        {
            "weight": [row.name for row in rows],
            "bytes": [row.bytes for row in rows],
            "calls that read a copy": [row.uses for row in rows],
            "casts, cache on": [row.cache_on for row in rows],
            "casts, cache off": [row.cache_off for row in rows],
            "saved by the cache": [row.hits for row in rows],
            "requires_grad": [row.requires_grad for row in rows],
        }
    )


def kept_table(found: AutocastMap) -> pd.DataFrame:
    """What is alive twice until backward."""
    rows = found.kept_twice
    return pd.DataFrame(
        {
            "tensor": [row.tensor for row in rows],
            "of a": [row.kind for row in rows],
            "shape": [format_shape(row.shape) for row in rows],
            "source": [f"{row.source}, {row.source_bytes} B" for row in rows],
            "lives because": [row.source_lives for row in rows],
            "copy": [f"{row.copy}, {row.copy_bytes} B" for row in rows],
            "copy saved by": [", ".join(row.copy_saved_by) for row in rows],
            "bytes of the copy": [row.copy_bytes for row in rows],
        }
    )


def held_table(found: AutocastMap) -> pd.DataFrame:
    """Bytes of the three runs."""
    runs = {"plain": found.held_plain, "autocast": found.held, "autocast, cache the other way": found.held_other_cache}
    return pd.DataFrame(
        {
            "run": list(runs),
            "bytes held for backward": _maybe(held.saved_bytes for held in runs.values()),
            "of it new bytes": _maybe(held.beside_leaves_bytes for held in runs.values()),
            "of that outside the graph": _maybe([None, found.outside_graph_bytes, None]),
            "peak bytes of the step": _maybe(held.peak_bytes for held in runs.values()),
        }
    )


def _maybe(values: Iterable[float | None]) -> pd.Series[Any]:
    """Of objects, or pandas would make None and nan the same."""
    return pd.Series(list(values), dtype=object)


def layers_table(found: AutocastMap) -> pd.DataFrame:
    """Every call of a module."""
    rows = found.layers
    own = [row.own for row in rows]
    return pd.DataFrame(
        {
            "module": [layer_name(row) for row in rows],
            "type": [row.type for row in rows],
            "own error": _maybe(None if one is None else one.relative for one in own),
            "with all before": _maybe(row.all_before.relative for row in rows),
            "1 − cosine": _maybe(row.all_before.turned for row in rows),
            "max |b − a|": _maybe(row.all_before.largest for row in rows),
            "dtypes": [" / ".join(row.all_before.dtypes) for row in rows],
            "missing": [
                row.all_before.missing or (row.own.missing and f"own {row.own.missing}" if row.own else "")
                for row in rows
            ],
        }
    )


def apart_table(rows: tuple[Apart, ...], first: str) -> pd.DataFrame:
    """Outputs or gradients."""
    return pd.DataFrame(
        {
            first: [row.name for row in rows],
            "‖b − a‖ / ‖a‖": _maybe(row.relative for row in rows),
            "1 − cosine": _maybe(row.turned for row in rows),
            "max |b − a|": _maybe(row.largest for row in rows),
            "‖a‖": _maybe(row.norm for row in rows),
            "became 0": [row.to_zero for row in rows],
            "not finite": [row.not_finite for row in rows],
            "elements": [row.elements for row in rows],
            "dtypes": [" / ".join(row.dtypes) for row in rows],
            "missing": [row.missing for row in rows],
        }
    )


def called_table(found: AutocastMap) -> pd.DataFrame:
    """The operators this model called: what autocast says of them against what was measured."""
    columns = ("operator", "autocast", "calls", "came in", "ran in", "gave")
    return pd.DataFrame(measured_calls(found.calls), columns=list(columns))


def listed_table(lists: AutocastLists) -> pd.DataFrame:
    """Every operator that autocast knows on the device."""
    rows = lists.operators
    return pd.DataFrame(
        {
            "operator": [row.name for row in rows],
            "casts to": [row.policy for row in rows],
            "float32 inputs": [_counted(row.from_float32) for row in rows],
            "low-precision inputs": [_counted(row.from_low) for row in rows],
            "first one low": [_counted(row.from_mixed) for row in rows],
        }
    )


def _counted(casts: Sequence[str]) -> str:
    """ "3 × float32 → bfloat16": the same cast of several arguments once."""
    return ", ".join(f"{count} × {cast}" if count > 1 else cast for cast, count in Counter(casts).items())


def trials_table(lists: AutocastLists) -> pd.DataFrame:
    """Lines plain and under autocast."""
    rows = lists.trials
    return pd.DataFrame(
        {
            "line": [row.code for row in rows],
            "plain": [_said(row.plain_type, row.plain) for row in rows],
            "under autocast": [_said(row.under_autocast_type, row.under_autocast) for row in rows],
            "so": [trial_words(row) for row in rows],
        }
    )


def _said(kind: str, text: str) -> str:
    return f"{kind}: {text}" if kind else text
