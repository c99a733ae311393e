"""Policies in words and rows: deltas to off, forecast against fact, what was run again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import Forecast, Outcome
from engine.checkpointing.standard import titled
from engine.figures.checkpointing_axes import format_flops
from engine.figures.units import MINUS, format_bytes, format_count, format_exact_bytes, format_significant
from engine.timing.comparison import Comparison, Ratio

NAMES = 4
"""Gradients named before the rest is counted."""


_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>()#+!|~$:"})


def literal(text: str) -> str:
    """`text` so that Markdown shows it as it stands."""
    return text.translate(_SPECIAL)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known of one policy; None where it was not run, not timed or not forecast."""

    policy: Policy
    outcome: Outcome | None
    forecast: Forecast | None
    ratio: Ratio | None
    blocks: int = 0

    @property
    def label(self) -> str:
        return titled(self.policy, self.blocks)


def rows_of(
    policies: Sequence[Policy],
    outcomes: Sequence[Outcome] = (),
    forecasts: Sequence[Forecast] = (),
    comparison: Comparison | None = None,
    blocks: int = 0,
) -> tuple[Row, ...]:
    """One row per policy, in order."""
    ran, told = {one.policy: one for one in outcomes}, {one.policy: one for one in forecasts}
    ratios = {one.name: one for one in comparison.ratios} if comparison is not None else {}
    return tuple(
        Row(policy=p, outcome=ran.get(p), forecast=told.get(p), ratio=ratios.get(label_of(p)), blocks=blocks)
        for p in policies
    )


def change(value: float | None, base: float | None) -> float | None:
    """Relative to `base`: −0.5 is half of it; None where either is missing or the base is 0."""
    return None if value is None or not base else (value - base) / base


def change_words(value: int | None, base: int | None) -> str:
    """ "−12.5 MiB (−72.4 %)"; "as off" for equals, "" where either is missing."""
    if value is None or base is None:
        return ""
    if value == base:
        return "as off"
    sign = "+" if value > base else MINUS
    share = f" ({sign}{abs(value - base) / base:.1%})" if base else ""
    return f"{sign}{format_bytes(abs(value - base))}{share}"


def error_words(forecast: int | None, fact: int | None, exact: bool = False) -> str:
    """How far a forecast was from the fact: "exact", "+1.20 % too high"."""
    if forecast is None or fact is None:
        return ""
    if forecast == fact:
        return "exact" + (", as promised" if exact else "")
    share = abs(forecast - fact) / fact if fact else 1.0
    return f"{format_significant(100 * share)} % too {'high' if forecast > fact else 'low'}" + (
        ", though promised exact" if exact else ""
    )


def gradients_words(outcome: Outcome) -> str:
    """Whether the gradients are those of off, and which are not."""
    if outcome.error is not None:
        return "PyTorch refused"
    if outcome.gradients_identical is None:
        return "not compared"
    if outcome.gradients_identical:
        return "bit-identical to off"
    wrong = [name for name in outcome.differing if name not in outcome.missing]
    told = []
    if outcome.missing:
        told.append(f"missing: {names_words(outcome.missing)}")
    if wrong:
        words = f"{format_count(outcome.differing_elements)} of {format_count(outcome.gradient_elements)} elements"
        largest = outcome.largest_difference
        by = f", by up to {format_significant(largest)} of a norm" if largest else ""
        told.append(f"differ: {names_words(wrong)} ({words}{by})")
    return "; ".join(told) or "differ from off"


def names_words(names: Sequence[str]) -> str:
    """The first few and how many more."""
    more = len(names) - NAMES
    return ", ".join(names[:NAMES]) + (f" and {format_count(more)} more" if more > 0 else "")


def ratio_words(row: Row) -> str:
    """ "1.35× (1.31 to 1.40)", "1" for off."""
    if row.policy == Policy():
        return "1 (the reference)"
    if row.ratio is None:
        return "not timed"
    told = f"{format_significant(row.ratio.ratio)}× ({format_significant(row.ratio.low)} to "
    told += f"{format_significant(row.ratio.high)})"
    return told if row.ratio.shows_a_difference else f"{told}, no difference shown{_doubt(row.ratio)}"


def _doubt(ratio: Ratio) -> str:
    """Why, where the band leaves 1 out."""
    if ratio.low <= 1 <= ratio.high:
        return ""
    return f": some of {ratio.rounds} rounds disagree" if ratio.is_by_chance else ": nearer to 1 than 2 %"


FACTS = ("fact", "value", "against off", "forecast (estimated)", "forecast error")


def fact_rows(row: Row, off: Row) -> tuple[tuple[str, ...], ...]:
    """Bytes and recomputation of one policy as rows of `FACTS`."""
    ran, told = row.outcome, row.forecast
    base = off.outcome or off.forecast
    found = []
    for label, name in (("held", "held_bytes"), ("peak", "peak_bytes")):
        value, foretold = getattr(ran, name, None), getattr(told, name, None)
        exact = name == "held_bytes" and told is not None and told.held_is_exact
        shown = value if value is not None else foretold
        error = error_words(foretold, value, exact)
        if name == "peak_bytes" and told is not None and told.peak_leaves_out:
            error += f"{', ' if error else ''}without {told.peak_leaves_out}"
        told_bytes = "" if foretold is None else format_bytes(foretold)
        found.append((label, _bytes(value), change_words(shown, getattr(base, name, None)), told_bytes, error))
    if ran is not None and ran.live_bytes is not None:
        found.append(("live after forward", _bytes(ran.live_bytes), _against(ran, off, "live_bytes"), "", ""))
    if ran is not None and ran.moved_bytes:
        found.append(("moved away", _bytes(ran.moved_bytes), "", "", ""))
    for label, name in (("run again", "recomputed_operations"), ("FLOPs again", "recomputed_flops")):
        value, foretold = (getattr(one, name, None) for one in (ran, told))
        form = format_flops if name == "recomputed_flops" else format_count
        words = ["" if one is None else form(one) for one in (value, foretold)]
        words[0] += " operations" if value is not None and name == "recomputed_operations" else ""
        found.append((label, words[0], "", words[1], error_words(foretold, value) if value or foretold else ""))
    return tuple(found)


def _against(ran: Outcome, off: Row, name: str) -> str:
    return change_words(getattr(ran, name), getattr(off.outcome, name, None))


def _bytes(value: int | None) -> str:
    return "" if value is None else f"{format_bytes(value)}  ({format_exact_bytes(value)})"
