"""A table that is written as text, for terminals, and as HTML, for notebooks, from the same columns and rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..escapes import to_printable

#: Letters of a text cell that are shown; in HTML the rest stands in the tool tip.
LONGEST = 72


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and how its cells are written.

    Numbers stand on the right, ``code`` in letters of one width. A cell of a column with ``has_bar`` is a part of a whole,
    from 0 to 1, and HTML shows a bar behind it. ``wraps`` lets HTML break long prose into lines.
    """

    title: str
    show: Callable[[Any], str] = str
    is_number: bool = False
    is_code: bool = False
    has_bar: bool = False
    wraps: bool = False

    def text(self, value: object) -> str:
        """Return a cell on one line: whatever would break it is escaped."""
        text = "" if value is None else self.show(value)
        return to_printable(text)


class DataTable:
    """Rows of values under columns.

    >>> table = DataTable([Column("operator"), Column("calls", is_number=True)], [("aten::mm", 2), ("aten::relu", 11)])
    >>> print(table)
    operator    calls
    ----------  -----
    aten::mm        2
    aten::relu     11
    """

    def __init__(self, columns: Iterable[Column], rows: Iterable[Sequence[Any]], *, left_out: str = "") -> None:
        self.columns = tuple(columns)
        self.rows = tuple(tuple(row) for row in rows)
        #: A sentence below the table about rows that are not shown.
        self.left_out = left_out

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the lines of the text: a head, a rule, and the rows."""
        cells = [[shorten(column.text(value)) for column, value in self._cells(row)] for row in self.rows]
        titles = [column.title for column in self.columns]
        widths = [max(map(_width, column)) for column in zip(titles, *cells, strict=True)]
        lines = [self._line(titles, widths), "  ".join("-" * width for width in widths)]
        lines += [self._line(row, widths) for row in cells]
        return [*lines, self.left_out] if self.left_out else lines

    def html(self) -> str:
        """Return the table as an element of HTML, by dispatch-devkit."""
        from ..devkit import to_table

        return to_table(self)

    def _cells(self, row: Sequence[Any]) -> Iterable[tuple[Column, Any]]:
        return zip(self.columns, row, strict=True)

    def _line(self, texts: Sequence[str], widths: Sequence[int]) -> str:
        cells = []
        for column, text, width in zip(self.columns, texts, widths, strict=True):
            blank = " " * (width - _width(text))
            cells.append(blank + text if column.is_number else text + blank)
        return "  ".join(cells).rstrip()


def shorten(text: str) -> str:
    """Return a cell's text with as many letters as are shown.

    >>> len(shorten("a" * 100))
    72
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _width(text: str) -> int:
    """Return how many places a terminal needs for a text: two for letters of East Asia."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)
