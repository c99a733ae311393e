"""A chain that cannot be read, in words with its column."""

from __future__ import annotations


class ChainError(ValueError):
    """What could not be read and how to write it; `column` counts characters of the text from 0, None for all of it."""

    def __init__(self, what: str, column: int | None = None) -> None:
        self.what, self.column = what, column
        where = "" if column is None else f" (column {column + 1})"
        super().__init__(f"{what}{'' if what.endswith(('.', '?')) else '.'}{where}")

    def moved(self, shift: int) -> ChainError:
        """The same error `shift` characters further right."""
        return ChainError(self.what, None if self.column is None else max(0, self.column + shift))
