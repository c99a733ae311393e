"""What a run under autocast comes to, in sentences and rows of words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from engine.figures.units import MINUS, format_bytes, format_count, format_significant
from engine.mixed_precision.results import Apart, Call, LayerError, Trial
from engine.mixed_precision.spec import AutocastMap

MANY_WORDS = {
    "low precision": "cast their inputs to the dtype of autocast",
    "float32": "cast their inputs to float32",
    "widest": "cast their inputs to the widest dtype among them",
    "no cast seen": "have a kernel, but cast nothing",
    "not registered": "are unknown to autocast and run in whatever comes in",
}
"""What autocast does with the operators of each policy."""


def change_words(before: int | None, after: int | None) -> str:
    """ "4 KiB → 6 KiB (+50 %)"."""
    if before is None or after is None:
        return "not known: PyTorch refused"
    share = f" ({signed_percent(after / before - 1)})" if before else ""
    return f"{format_bytes(before)} → {format_bytes(after)}{share}"


def signed_percent(share: float) -> str:
    """A change as "+50%" or "−12%"."""
    return f"{'+' if share > 0 else MINUS if share < 0 else '±'}{abs(share):.0%}"


def memory_sentence(found: AutocastMap) -> str:
    """Bytes held for backward without and with autocast, all of them and those that are new memory."""
    plain, under = found.held_plain, found.held
    held = change_words(plain.saved_bytes, under.saved_bytes)
    new = change_words(plain.beside_leaves_bytes, under.beside_leaves_bytes)
    peak = change_words(plain.peak_bytes, under.peak_bytes)
    outside = found.outside_graph_bytes
    rest = (
        f" ({format_bytes(outside)} of the latter kept by checkpoints, outside the graph and the bars)"
        if outside
        else ""
    )
    return (
        f"Held for backward: **{held}**; of it new memory, beside weights and inputs, which live anyway: **{new}**"
        f"{rest}; peak of the step: **{peak}**."
    )


def calls_sentence(found: AutocastMap) -> str:
    """How many calls gave which dtype, and how many casts autocast put before them."""
    given = Counter(call.outputs[0] for call in found.calls if call.outputs and "float" in call.outputs[0])
    listed = ", ".join(f"{count} gave `{dtype}`" for dtype, count in given.most_common())
    casts = [cast for cast in found.casts if cast.by == "autocast"]
    own = sum(cast.by == "the model" for cast in found.casts)
    rest = f"; {own} casts are the model's own" if own else ""
    copies = format_bytes(sum(cast.bytes for cast in casts))
    return (
        f"{format_count(sum(given.values()))} calls: {listed or 'none with a floating point result'}. Autocast made "
        f"{format_count(len(casts))} casts for them, {copies} of copies{rest}."
    )


def measured_calls(calls: Sequence[Call]) -> tuple[tuple[str, str, int, str, str, str], ...]:
    """(operator, policy, calls, came in, ran in, gave) of every operator that was called, by policy."""
    groups: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        groups[call.name].append(call)
    rows = []
    for name, those in groups.items():
        came_in, ran_in, outputs = (_distinct(those, field) for field in ("came_in", "ran_in", "outputs"))
        rows.append((name, str(those[0].policy), len(those), came_in, ran_in, outputs))
    order = list(MANY_WORDS)
    return tuple(sorted(rows, key=lambda row: (order.index(row[1]), row[0])))


def _distinct(calls: Sequence[Call], field: str) -> str:
    shown = dict.fromkeys(dtypes_words(getattr(call, field)) for call in calls)
    return " or ".join(list(shown)[:3]) + (" …" if len(shown) > 3 else "")


def dtypes_words(dtypes: Sequence[str]) -> str:
    """ "2 × float32, int64": neighbours of one dtype counted."""
    counted = Counter(dtypes)
    return ", ".join(f"{count} × {dtype}" if count > 1 else dtype for dtype, count in counted.items())


def worst_own(layers: Sequence[LayerError]) -> LayerError | None:
    """The module call that adds the most error of its own."""
    told = [one for one in layers if one.own is not None and one.own.relative is not None]
    return max(told, key=lambda one: (one.own.relative if one.own else 0.0) or 0.0, default=None)


def worst(rows: Sequence[Apart]) -> Apart | None:
    """The row with the largest relative difference."""
    return max((row for row in rows if row.relative is not None), key=lambda row: row.relative or 0.0, default=None)


def layer_name(row: LayerError) -> str:
    """Path, with the number of the call where it is not the first."""
    return row.path if row.call == 1 else f"{row.path} (call {row.call})"


def trial_words(trial: Trial) -> str:
    """What autocast changed of a line."""
    if trial.raises:
        return "raises under autocast"
    if trial.under_autocast_type:
        return "raises either way"
    return "same" if trial.plain == trial.under_autocast else f"{trial.plain} → {trial.under_autocast}"


def apart_words(row: Apart) -> str:
    """Relative difference and direction, or why there is none."""
    if row.relative is None:
        return row.missing or "the plain run's is all 0"
    turned = "" if row.turned is None else f", 1 − cosine {format_significant(row.turned)}"
    return (
        f"relative {format_significant(row.relative)}{turned}, at most {format_significant(row.largest or 0.0)} apart"
    )
