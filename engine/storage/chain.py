"""A chain of operations as a person types it after a tensor: `.transpose(0, 1)[1:, ::2].reshape(4, -1)`.

The text is parsed by `ast` and walked; nothing of it is ever evaluated, and only names of the table are known.
"""

from __future__ import annotations

import ast
import re
from collections import deque

from engine.storage.call import bind_call, bind_property, picks_one_output
from engine.storage.chain_error import ChainError
from engine.storage.chain_text import format_chain
from engine.storage.operations import Step
from engine.storage.subscript import bind_output, bind_subscript

__all__ = ["ChainError", "format_chain", "parse_chain"]

LONGEST_TEXT = 1000
DEEPEST_BRACKETS = 20
_STRANGE = re.compile(r"[^A-Za-z0-9_.,:\[\]()=\-\s]")

_RUNS_ON = re.compile(r"(?<![A-Za-z0-9_])[0-9][0-9_.]*[A-Za-z]")
"""A number with a letter behind it; Python reads some of them, with a warning that would reach the whole process."""

Link = ast.Attribute | ast.Call | ast.Subscript


def parse_chain(text: str) -> tuple[Step, ...]:
    """The steps of a chain; () for an empty text. A leading name such as `x` may be left out.

    Raises ChainError (a ValueError): what could not be read, at which column, and how to write it.
    """
    _check_characters(text)
    flat = re.sub(r"\s", " ", text)
    stripped = flat.strip()
    if not stripped:
        return ()
    added = "x" if stripped[0] in ".[" else ""
    shift = len(flat) - len(flat.lstrip()) - len(added)
    try:
        return _steps(_links(_parsed(added + stripped)))
    except ChainError as error:
        raise error.moved(shift) from None


def _check_characters(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise ChainError(f"The chain may have at most {LONGEST_TEXT} characters; received {len(text)}. Shorten it.")
    if strange := _STRANGE.search(text):
        raise ChainError(
            f"{strange[0]!r} has no place in a chain. Use method calls and indices only, as in .transpose(0, 1)[1:]",
            strange.start(),
        )
    if found := _RUNS_ON.search(text):
        raise ChainError(f"{found[0]!r} is no whole number. Write digits only, as in 2", found.start())
    depth = 0
    for column, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth > DEEPEST_BRACKETS:
            raise ChainError(f"Brackets are nested deeper than {DEEPEST_BRACKETS}. Remove some", column)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        column = max(0, (error.offset or 1) - 1)
        raise ChainError(
            f"This is not a chain of operations: {error.msg}. Write it as after a tensor, .transpose(0, 1)[1:]", column
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise ChainError("The chain is too deep to be read. Use fewer operations") from None


def _links(node: ast.expr) -> list[Link]:
    """Attributes, calls and subscripts from the first to the last; the name in front is dropped."""
    links: list[Link] = []
    while not isinstance(node, ast.Name):
        if not isinstance(node, Link):
            raise ChainError(
                "A chain starts with a tensor's name or with a dot or bracket, as in x.transpose(0, 1)", node.col_offset
            )
        links.append(node)
        node = node.func if isinstance(node, ast.Call) else node.value
    if node.id == "torch":
        raise ChainError("Functions of torch are not read here. Write the method, x.flip(0) for torch.flip(x, 0)")
    return links[::-1]


def _steps(links: list[Link]) -> tuple[Step, ...]:
    steps: list[Step] = []
    waiting = deque(links)
    while waiting:
        link = waiting.popleft()
        if isinstance(link, ast.Subscript):
            steps += bind_subscript(link)
        elif isinstance(link, ast.Call):
            raise ChainError("Brackets call what is no method here. Write .name(...)", link.end_col_offset)
        else:
            steps.append(_named(link, waiting))
    return tuple(steps)


def _named(link: ast.Attribute, waiting: deque[Link]) -> Step:
    """The step of `.name` or `.name(...)`, with the `[index]` behind it that picks one of several outputs."""
    name, column = link.attr, name_column(link)
    if not waiting or not isinstance(waiting[0], ast.Call):
        return bind_property(name, column)
    call = waiting.popleft()
    assert isinstance(call, ast.Call)
    if not picks_one_output(name):
        return bind_call(name, call, column)
    if not waiting or not isinstance(waiting[0], ast.Subscript):
        raise ChainError(f".{name}(...) makes several views. Pick one, as in .{name}(...)[0]", column)
    picked = waiting.popleft()
    assert isinstance(picked, ast.Subscript)
    return bind_call(name, call, column, index=bind_output(picked))


def name_column(link: ast.Attribute) -> int:
    """Where the name after the dot starts."""
    return (link.end_col_offset or 0) - len(link.attr)
