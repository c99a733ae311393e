"""Shapes aligned from the right as an HTML table: size and stride of every dimension, new, stretched or at fault."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from engine.broadcasting.results import Broadcast, Placed
from engine.broadcasting.rule import NAMES, Alignment, Column, operation_alignment
from engine.broadcasting.spec import BroadcastSpec
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning

KINDS = {"rows": ", rows of a", "columns": ", columns of b"}


def alignment_html(spec: BroadcastSpec, outcome: Broadcast, theme: Theme) -> str:
    """One row per operand and one for the result; a cell has the size large and the expanded stride below."""
    alignment = operation_alignment(spec.operation, spec.shapes)
    if alignment.refusal:
        return f'<p style="color:{TEXT[theme]};margin:0">{escape(alignment.refusal)}.</p>'
    heads = "".join(_head(alignment, number, theme) for number in range(len(alignment.columns)))
    rows = "".join(
        _row(
            place.name,
            _note(place),
            [_operand_cell(alignment, n, row, place, theme) for n in _numbers(alignment)],
            theme,
        )
        for row, place in enumerate(outcome.operands)
    )
    result = _row(
        "result", outcome.dtype or "", [_result_cell(alignment, n, theme) for n in _numbers(alignment)], theme
    )
    style = f"border-collapse:collapse;color:{TEXT[theme]};font-variant-numeric:tabular-nums;font-size:15px"
    return (
        f'<div style="overflow-x:auto"><table style="{style}" aria-label="Shapes aligned from the right">'
        f'<thead><tr><th style="text-align:left;font-weight:400;color:{MUTED[theme]};padding:2px 20px 4px 0">dim</th>'
        f"{heads}</tr></thead><tbody>{rows}{result}</tbody></table></div>"
    )


def alignment_rows(spec: BroadcastSpec, outcome: Broadcast) -> tuple[tuple[str, ...], ...]:
    """The same table as words: name, then per dimension "size (stride s, what)"."""
    alignment = operation_alignment(spec.operation, spec.shapes)
    rows = []
    for row, place in enumerate(outcome.operands):
        cells = []
        for number in _numbers(alignment):
            size, stride, word, _ = _operand_words(alignment, number, row, place)
            cells.append(", ".join(part for part in (size, stride, word) if part))
        rows.append((place.name, *cells))
    results = ["" if column.result is None else str(column.result) for column in alignment.columns]
    return (*rows, ("result", *results))


def _numbers(alignment: Alignment) -> range:
    return range(len(alignment.columns))


def _head(alignment: Alignment, number: int, theme: Theme) -> str:
    column = alignment.columns[number]
    kept = [n for n in _numbers(alignment) if alignment.columns[n].kind != "contracted"]
    text = "summed over" if column.kind == "contracted" else f"−{len(kept) - kept.index(number)}"
    style = f"font-weight:400;color:{MUTED[theme]};padding:2px 10px 4px;text-align:center;white-space:nowrap"
    return f'<th style="{style}">{text}{KINDS.get(column.kind, "")}</th>'


def _row(name: str, note: str, cells: Sequence[str], theme: Theme) -> str:
    border = f"border-top:1px solid {LINE[theme]}" if name == "result" else ""
    small = f' <span style="color:{MUTED[theme]};font-size:12px;font-weight:400">{escape(note)}</span>' if note else ""
    return (
        f'<tr style="{border}"><th style="text-align:left;padding:5px 20px 5px 0;white-space:nowrap">'
        f"<code>{escape(name)}</code>{small}</th>{''.join(cells)}</tr>"
    )


def _note(place: Placed) -> str:
    return f"{place.dtype}{'' if place.is_number or place.shape else ' 0-dim'}"


def _operand_words(alignment: Alignment, number: int, row: int, place: Placed) -> tuple[str, str, str, str]:
    """(size, stride, word, meaning of the palette) of one operand in one dimension."""
    column = alignment.columns[number]
    size = column.sizes[row]
    dim = _expanded_dim(alignment, number, row)
    stride = None
    if dim is not None and place.expanded_stride is not None and dim < len(place.expanded_stride):
        stride = place.expanded_stride[dim]
    elif size is not None and place.expanded_stride is None:
        stride = place.stride[len(place.shape) - 1 - _from_right(alignment, number, row)]
    text = "" if stride is None else f"stride {stride}"
    if column.fault is not None and row in column.fault:
        return str(size), text, "conflict", "conflict"
    if size is None:
        return ("", "", "", "") if column.kind != "broadcast" else ("–", text, "new", "added")
    is_stretched = dim is not None and dim in place.stretched_dims
    return str(size), text, "stretched" if is_stretched else "", "stretched" if is_stretched else ""


def _expanded_dim(alignment: Alignment, number: int, row: int) -> int | None:
    """Which dim of the expanded operand a column is; None where a matrix product does not use it there."""
    column = alignment.columns[number]
    if column.kind == "broadcast":
        return number
    if column.sizes[row] is None:
        return None
    batch = sum(other.kind == "broadcast" for other in alignment.columns)
    own = [n for n, other in enumerate(alignment.columns) if other.kind != "broadcast" and other.sizes[row] is not None]
    return batch + own.index(number)


def _from_right(alignment: Alignment, number: int, row: int) -> int:
    """Dims of an operand to the right of a column."""
    return sum(column.sizes[row] is not None for column in alignment.columns[number + 1 :])


def _operand_cell(alignment: Alignment, number: int, row: int, place: Placed, theme: Theme) -> str:
    size, stride, word, key = _operand_words(alignment, number, row, place)
    return _cell(size, " · ".join(part for part in (stride, word) if part), key, theme)


def _result_cell(alignment: Alignment, number: int, theme: Theme) -> str:
    column: Column = alignment.columns[number]
    if column.fault is not None:
        first, second = column.fault
        words = f"{column.sizes[first]} in {NAMES[first]}, {column.sizes[second]} in {NAMES[second]}"
        return _cell("≠", words, "conflict", theme)
    if column.kind == "contracted":
        return _cell("Σ", "gone", "summed", theme)
    return _cell("" if column.result is None else str(column.result), "", "", theme)


def _cell(size: str, below: str, key: str, theme: Theme) -> str:
    """Colour says it again, the words say it alone."""
    accent = meaning(key).accent(theme) if key else TEXT[theme]
    fill = (
        f"background:{meaning(key).fill(theme)};box-shadow:inset 0 0 0 1px {accent};border-radius:6px;" if key else ""
    )
    small = (
        f'<div style="font-size:11px;color:{accent if key else MUTED[theme]};white-space:nowrap">{escape(below)}</div>'
    )
    return (
        f'<td style="text-align:center;padding:4px 10px;{fill}"><div style="font-size:18px;font-weight:600">'
        f"{escape(size) or '&nbsp;'}</div>{small if below else ''}</td>"
    )
