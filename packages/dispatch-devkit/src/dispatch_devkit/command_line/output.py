"""Text for people: colours and the width of lines where the output is a terminal, and plain text of any width elsewhere.

``NO_COLOR`` and ``TERM=dumb`` leave colours out, ``FORCE_COLOR`` has them everywhere (sources: no-color.org,
force-color.org). No text is cut off: where a table is too wide, its last column is wrapped or goes below, or each row
becomes a block of lines.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from dispatch_core.escapes import to_printable

_CODES: Final = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}
#: State of a plugin, or outcome of its trial → its colour.
_STYLES: Final = {
    **dict.fromkeys(("installed", "loaded", "ok"), "green"),
    **dict.fromkeys(("absent", "blocked", "outranked"), "yellow"),
    **dict.fromkeys(("crashed", "failed", "faulty", "refused", "timed out"), "red"),
}
#: The least width that a wrapped column is readable in.
_NARROW: Final = 24

Styles = Mapping[int, Callable[[str], str]]


def style_of(state: str) -> str:
    """Return the colour of a plugin's state, or "" for none.

    >>> style_of("failed"), style_of("loaded, on"), style_of("cpu")
    ('red', 'green', '')
    """
    return _STYLES.get(state.partition(",")[0], "")


@dataclass(frozen=True, slots=True)
class TextOutput:
    """The form of a stream's text: lines of at most ``width`` characters, None for any width, and colours."""

    width: int | None = None
    has_colors: bool = False

    @classmethod
    def of(cls, stream: TextIO | None = None, environ: Mapping[str, str] = os.environ) -> TextOutput:
        """Return the form of a stream's text, standard output unless another one is given.

        >>> import io
        >>> TextOutput.of(io.StringIO(), {})
        TextOutput(width=None, has_colors=False)
        """
        stream = sys.stdout if stream is None else stream
        is_terminal = stream is not None and stream.isatty()
        return cls(
            shutil.get_terminal_size().columns if is_terminal else None,
            _has_colors(environ, is_terminal=is_terminal),
        )

    def paint(self, text: str, style: str) -> str:
        r"""Return a text in a colour, or bold, where there are colours.

        >>> TextOutput().paint("fine", "green"), TextOutput(has_colors=True).paint("fine", "green")
        ('fine', '\x1b[32mfine\x1b[0m')
        """
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.has_colors and style and text else text

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], styles: Styles | None = None) -> str:
        """Return a table, "" for one without rows; ``styles`` has for a column the function of a cell's colour.

        >>> print(TextOutput().table(("device", "state"), [("cpu", "loaded")]))
        device  state
        cpu     loaded
        """
        lines = [[to_printable(cell) for cell in row] for row in rows]
        if not lines:
            return ""
        widths = [max(len(line[column]) for line in (head, *lines)) for column in range(len(head))]
        last = sum(widths[:-1]) + 2 * (len(widths) - 1)
        if self.width is not None and last + len(head[-1]) > self.width:
            return self._blocks(head, lines, self.width)
        room = widths[-1] if self.width is None else self.width - last
        longest = max((len(word) for line in lines for word in line[-1].split()), default=0)
        hangs = room < min(widths[-1], max(_NARROW, longest))
        styles = styles or {}
        shown = ["  ".join(self._pad(cell, width, "bold") for cell, width in zip(head, widths, strict=True))]
        for line in lines:
            first, *more = ["", *self.wrap(line[-1], " " * 4)] if hangs else self.wrap(line[-1], width=room) or [""]
            cells = [
                self._pad(cell, width, styles[column](cell) if column in styles else "")
                for column, (cell, width) in enumerate(zip([*line[:-1], first], widths, strict=True))
            ]
            shown.append("  ".join(cells).rstrip())
            shown += more if hangs else [" " * last + each for each in more]
        return "\n".join(each.rstrip() for each in shown)

    def _pad(self, text: str, width: int, style: str) -> str:
        return self.paint(text, style) + " " * (width - len(text))

    def _blocks(self, head: Sequence[str], lines: Iterable[Sequence[str]], width: int) -> str:
        """Return each row as its first cell and a line for each other one, as wide a table as it is."""
        shown = []
        for first, *cells in lines:
            shown.append(self.paint(first, "bold"))
            for name, cell in zip(head[1:], cells, strict=True):
                if cell:
                    indent = " " * (len(first) - len(first.lstrip()) + 2)
                    shown += self.wrap(cell, f"{indent}{name.strip()}: ", f"{indent}  ", width)
        return "\n".join(shown)

    def wrap(self, text: str, first: str = "", more: str = "", width: int | None = None) -> list[str]:
        """Return the lines of a paragraph, of 120 characters on no terminal; they begin with ``first`` and then ``more``.

        A word that is longer than a line, such as a path, stays whole.
        """
        return textwrap.wrap(
            text,
            max(width or self.width or 120, _NARROW),
            initial_indent=first,
            subsequent_indent=more or first,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _has_colors(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    if not is_terminal or environ.get("TERM") == "dumb":
        return False
    # An old console of Windows prints the codes; a newer one sets one of these.
    return sys.platform != "win32" or bool({"WT_SESSION", "ANSICON", "TERM"} & environ.keys())
