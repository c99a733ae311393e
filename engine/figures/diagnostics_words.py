"""A diagnosis in sentences: the headline, where a NaN began, what the scan and the units say."""

from __future__ import annotations

import re

from engine.diagnostics.results import PHASES, Birth, Diagnosis, Operand, Watched
from engine.figures.units import format_shape, format_significant
from engine.graph.rows import Source

MOST_REASONS = 3
_IN_MODULE = re.compile(r" in ([\w.]+) got")


def headline(diagnosis: Diagnosis) -> tuple[str, str]:
    """(kind of message, plain text): the one thing to know first; kind is "error", "warning" or "success"."""
    if diagnosis.error is not None:
        return "error", f"The {diagnosis.error_stage} stopped with {diagnosis.error.type}."
    if diagnosis.origin is not None:
        return "error", origin_sentence(diagnosis.births[diagnosis.origin])
    missing = [one for one in diagnosis.watched if one.state == "none" and one.requires_grad and one.is_leaf]
    zero = [one for one in diagnosis.watched if one.state == "zero" and one.is_leaf]
    told = [_because(missing, ".grad is None")] if missing else []
    told += [_no_leaf(one) for one in diagnosis.watched if one.stands_for_a_leaf]
    told += [_because(zero, "the gradient is exactly 0")] if zero else []
    if told:
        return "warning", " ".join(told)
    return (
        "success",
        f"Every leaf that requires a gradient has one that is finite and not all zero.{_masked(diagnosis)}",
    )


def _masked(diagnosis: Diagnosis) -> str:
    """What was not finite on the way and reached nothing."""
    births = len(diagnosis.births) + diagnosis.more_births
    if not births:
        return ""
    elements = sum(birth.nans + birth.infinities for birth in diagnosis.births)
    least = "At least " if diagnosis.more_births else ""
    were = "element on the way was" if elements == 1 else "elements on the way were"
    places = "1 place" if births == 1 else f"{births} places"
    return f" {least}{elements} {were} not finite, begun in {places}, and masked."


def _no_leaf(one: Watched) -> str:
    """A variable that reads as a leaf and is none."""
    answer = next((step.evidence.split(":")[0] for step in one.steps if step.question == "Is it a leaf?"), "")
    return f"{one.name} is no leaf ({answer}): its .grad stays None, and the leaf it was made from has no name."


def _because(rows: list[Watched], what: str) -> str:
    """The rows by reason, the reasons of equal words told once."""
    groups: dict[str, list[Watched]] = {}
    for one in rows:
        groups.setdefault(_IN_MODULE.sub(" got", _reason(one, line=False)), []).append(one)
    shown = list(groups.items())[:MOST_REASONS]
    parts = [f"{_names(found, rows)}: {what}, because {_shared_reason(words, found)}" for words, found in shown]
    more = sum(map(len, list(groups.values())[MOST_REASONS:]))
    return " ".join(parts) + (f" {more} more for other reasons: see their traces." if more else "")


def _shared_reason(words: str, rows: list[Watched]) -> str:
    """The one reason with its line, or what several of equal words have in common."""
    reasons = {_reason(one) for one in rows}
    if len(reasons) == 1:
        return reasons.pop()
    modules = list(dict.fromkeys(name for one in rows for name in _IN_MODULE.findall(_reason(one))))
    return words.replace(" got", f" in each of {_listed(modules)} got", 1) if len(modules) > 1 else words


def _names(rows: list[Watched], every: list[Watched]) -> str:
    """Short: all parameters of a module that are among `every`, and are at least two, as `module.*`."""
    names: list[str] = []
    for one in rows:
        inside = [other for other in rows if other.module == one.module]
        whole = len(inside) > 1 and len(inside) == sum(other.module == one.module for other in every)
        names.append(f"{one.module}.*" if one.module and whole else one.name)
    return _listed(list(dict.fromkeys(names)))


def _reason(one: Watched, line: bool = True) -> str:
    """What decided, with its line."""
    step = next((step for step in one.steps if step.decides), one.steps[-1])
    place = f" ({step.source.file} line {step.source.line})" if line and step.source is not None else ""
    return f"{step.evidence}{place}."


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def origin_sentence(birth: Birth) -> str:
    """Where the first non-finite value was born, why, and what it spread to."""
    what = "NaN" if birth.nans else "infinity"
    if birth.phase == "given":
        return f"The first {what} was there before the forward: in {birth.operation}. It spread to {spread(birth)}."
    place = f" in {birth.module}" if birth.module else ""
    node = f", inside of {birth.node}" if birth.node else ""
    called = f" (called as {birth.called})" if birth.called and birth.phase == "forward" else ""
    return (
        f"The first {what} came out of {birth.operation}{called}{node}{place}, {PHASES[birth.phase]}. "
        f"{birth.explanation} It spread to {spread(birth)}."
    )


def spread(birth: Birth) -> str:
    """The names it reached."""
    return _listed(list(birth.reached)) or "nothing: it was masked on the way"


def source_words(source: Source | None) -> str:
    """File, line and function."""
    return "" if source is None else f"{source.file} line {source.line}, in {source.function}"


def operand_row(operand: Operand) -> tuple[str, str, str, str, str, str]:
    """Name, shape, dtype, minimum, maximum, non-finite count of one operand."""
    summary = operand.summary
    if summary is None:
        return operand.name, "", "Python value", operand.text, "", ""
    return (
        operand.name,
        format_shape(summary.shape),
        summary.dtype,
        format_significant(summary.minimum, 4),
        format_significant(summary.maximum, 4),
        f"{summary.nans} NaN, {summary.infinities} inf" if summary.non_finite else "none",
    )


OPERAND_COLUMNS = ("operand", "shape", "dtype", "minimum", "maximum", "not finite")


def birth_row(number: int, birth: Birth) -> tuple[str, ...]:
    """One line of the table of births."""
    return (
        str(number + 1),
        birth.phase,
        birth.operation,
        birth.node or birth.called,
        birth.module,
        source_words(birth.source),
        f"{birth.nans} NaN, {birth.infinities} inf of {birth.numel}",
        "written down" if birth.on_purpose else "computed",
        ", ".join(birth.reached) or "masked",
    )


BIRTH_COLUMNS = ("", "when", "operation", "called as, or node", "module", "line", "made", "", "spread to")
