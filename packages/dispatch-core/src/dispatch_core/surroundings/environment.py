"""Environment variables: switches, which are read once and again after ``dispatch_core.refresh()``, and their grammar."""

from __future__ import annotations

import os
from typing import Final

from ..bookkeeping.changes import on_refresh
from ..errors import BackendError


class Switch:
    """A variable that is off where it is not set.

    >>> Switch("DISPATCH_NOWHERE_SET").is_on()
    False
    """

    __slots__ = ("_on", "variable")

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self._on: bool | None = None
        on_refresh(self.invalidate)

    def is_on(self) -> bool:
        """Return whether the variable says yes.

        Raises ``BackendError`` for a value that is neither yes nor no.
        """
        if self._on is None:
            text = os.environ.get(self.variable, "").strip()
            self._on = bool(text) and parse_boolean(self.variable, text)
        return self._on

    def invalidate(self) -> None:
        """Read the variable again when it is next asked for."""
        self._on = None


_BOOLEANS: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def parse_boolean(variable: str, text: str, reading: str = "after a change call dispatch_core.refresh()") -> bool:
    """Read a yes or a no, whatever its case; ``reading`` ends the hint of its error, and says when the variable is read.

    Raises ``BackendError`` naming the variable for any other word.

    >>> parse_boolean("DISPATCH_AUTOLOAD", "off")
    False
    """
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise BackendError(
            f"The environment variable {variable} is {text!r}, which is neither yes nor no",
            hint=f"write one of {', '.join(_BOOLEANS)}; {reading}",
        ) from None


def parse_names(text: str) -> tuple[str, ...]:
    """Split a list at its commas; blanks and repeated names do not matter.

    >>> parse_names("npu, cpu,,npu")
    ('npu', 'cpu')
    """
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
