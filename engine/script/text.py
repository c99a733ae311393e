"""Laying out a script: imports in order, definitions apart, calls broken where a line would be too long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LINE_LENGTH = 120


def import_lines(entries: Iterable[tuple[str, str, str]]) -> str:
    """Import statements of (module, name, alias) entries: standard library first, then torch and torchviz."""
    plain = sorted({f"import {module}" for module, name, _ in entries if not name})
    froms: dict[str, set[str]] = {}
    for module, name, alias in entries:
        if name:
            froms.setdefault(module, set()).add(f"{name} as {alias}" if alias else name)
    selected = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(froms.items())]
    foreign = [line for line in plain + selected if line.split()[1].startswith("torch")]
    standard = [line for line in plain + selected if line not in foreign]
    return "\n\n".join("\n".join(lines) for lines in (standard, foreign) if lines)


def call(prefix: str, arguments: Mapping[str, object]) -> list[str]:
    """`prefix(name=value, ...)`, one argument a line when it would not fit."""
    pairs = [f"{name}={literal(value)}" for name, value in arguments.items()]
    line = f"{prefix}({', '.join(pairs)})"
    return [line] if len(line) <= LINE_LENGTH else [f"{prefix}(", *(f"    {pair}," for pair in pairs), ")"]


def literal(value: object) -> str:
    """A Python literal, strings in double quotes."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def indented(lines: Iterable[str]) -> list[str]:
    """The lines four spaces further right."""
    return [f"    {line}" if line else line for line in lines]
