"""Environment variables that are yes or no, read once and again after ``dispatch_core.refresh()``."""

from __future__ import annotations

import os

__all__ = ["Switch"]


class Switch:
    """A variable that is off where it is not set.

    >>> Switch("DISPATCH_NOWHERE_SET").is_on()
    False
    """

    __slots__ = ("_on", "variable")

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self._on: bool | None = None

    def is_on(self) -> bool:
        """Tell whether the variable says yes.

        Raises ``BackendError`` for a value that is neither yes nor no.
        """
        if self._on is None:
            text = os.environ.get(self.variable, "").strip()
            if text:
                from .plugins.settings import parse_boolean  # plugins stand above; only a value needs it

                self._on = parse_boolean(self.variable, text)
            else:
                self._on = False
        return self._on

    def forget(self) -> None:
        """Read the variable again when it is next asked for."""
        self._on = None
