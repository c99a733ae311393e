"""A diagnosis in sentences: the headline, where a NaN began, what the scan and the units say."""

from __future__ import annotations

from engine.diagnostics.results import PHASES, Birth, Diagnosis, Operand, Watched
from engine.figures.units import format_shape, format_significant
from engine.graph.rows import Source


def headline(diagnosis: Diagnosis) -> tuple[str, str]:
    """(kind of message, plain text): the one thing to know first; kind is "error", "warning" or "success"."""
    if diagnosis.error is not None:
        return "error", f"The {diagnosis.error_stage} stopped with {diagnosis.error.type}."
    if diagnosis.origin is not None:
        return "error", origin_sentence(diagnosis.births[diagnosis.origin])
    missing = [one for one in diagnosis.watched if one.state == "none" and one.requires_grad and one.is_leaf]
    zero = [one for one in diagnosis.watched if one.state == "zero" and one.is_leaf]
    if missing:
        return "warning", f"{_listed([one.name for one in missing])}: .grad is None, because {_reason(missing[0])}"
    if zero:
        return (
            "warning",
            f"{_listed([one.name for one in zero])}: the gradient is exactly 0, because {_reason(zero[0])}",
        )
    masked = f" {len(diagnosis.births)} non-finite values were made on the way and masked." if diagnosis.births else ""
    return "success", f"Every leaf that requires a gradient has one that is finite and not all zero.{masked}"


def _reason(one: Watched) -> str:
    """What decided, with its line."""
    step = next((step for step in one.steps if step.decides), one.steps[-1])
    line = f" ({step.source.file} line {step.source.line})" if step.source is not None else ""
    return f"{step.evidence}{line}."


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
