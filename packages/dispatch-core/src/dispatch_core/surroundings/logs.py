"""Loggers below ``dispatch_core``, and the variable ``DISPATCH_LOG``.

Note [Logging is not imported for a record that cannot be seen]
    Importing ``logging`` takes longer than a third of importing the core. A program that has not imported it has no handler
    either, and the library's own logger has one that drops records, as libraries should. So a record is made only where
    ``logging`` has been imported, which `DISPATCH_LOG` does, too. No call of an operator makes one.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

from ..bookkeeping.changes import on_refresh
from .environment import parse_names

if TYPE_CHECKING:
    from logging import Handler, Logger

#: The logger above all others.
ROOT: Final = "dispatch_core"
VARIABLE: Final = "DISPATCH_LOG"
DEBUG: Final = 10
INFO: Final = 20
WARNING: Final = 30
_LEVELS: Final = {"debug": DEBUG, "info": INFO, "warning": WARNING, "error": 40}

#: The loggers whose level the variable has set, and the handler that prints their records.
_set: Final[list[Logger]] = []
_handler: Handler | None = None


class Log:
    """A logger, made when it is first needed; see Note [Logging is not imported for a record that cannot be seen].

    >>> import logging
    >>> Log("plugins").is_on(DEBUG)
    False
    """

    __slots__ = ("_logger", "name")

    def __init__(self, name: str) -> None:
        self.name = f"{ROOT}.{name}"
        self._logger: Logger | None = None

    def is_on(self, level: int) -> bool:
        """Return whether a record of this level would be handed to handlers."""
        if "logging" not in sys.modules:
            return False
        if self._logger is None:
            self._logger = _find_logger(self.name)
        return self._logger.isEnabledFor(level)

    def debug(self, message: str, *arguments: object) -> None:
        """Record the library's work, step by step."""
        if self.is_on(DEBUG):
            self._record(DEBUG, message, arguments)

    def info(self, message: str, *arguments: object) -> None:
        """Record an event that happens once or seldom."""
        if self.is_on(INFO):
            self._record(INFO, message, arguments)

    def warning(self, message: str, *arguments: object) -> None:
        """Record something that the user may want to change, and that is not an error."""
        if self.is_on(WARNING):
            self._record(WARNING, message, arguments)

    def _record(self, level: int, message: str, arguments: tuple[Any, ...]) -> None:
        assert self._logger is not None
        self._logger.log(level, message, *arguments, stacklevel=3)


def _find_logger(name: str) -> Logger:
    import logging

    root = logging.getLogger(ROOT)
    if not any(isinstance(each, logging.NullHandler) for each in root.handlers):
        root.addHandler(logging.NullHandler())
    return logging.getLogger(name)


def parse_levels(text: str) -> dict[str, int]:
    """Read the variable: a level for all loggers, or ``name=level``, or both, with commas between.

    Raises ``ValueError`` for an unknown level.

    >>> parse_levels("info, pipelines=debug")
    {'dispatch_core': 20, 'dispatch_core.pipelines': 10}
    """
    levels = {}
    for part in parse_names(text):
        name, equals, level = part.rpartition("=")
        found = _LEVELS.get(level.strip().lower())
        if found is None or (equals and not name.strip()):
            raise ValueError(
                f"the environment variable {VARIABLE} has {part!r}, which is not a level."
                f" Hint: write one of {', '.join(_LEVELS)}, or name=level: info,pipelines=debug"
            )
        name = name.strip().removeprefix(f"{ROOT}.")
        levels[f"{ROOT}.{name}" if name not in ("", ROOT) else ROOT] = found
    return levels


@on_refresh
def read_environment() -> None:
    """Print the records that the variable asks for on stderr, beside the handlers of the program."""
    global _handler
    if "logging" in sys.modules:
        _find_logger(ROOT)
    text = os.environ.get(VARIABLE, "").strip()
    if not text and _handler is None:
        return
    import logging

    from .log_handler import StderrHandler

    for logger in _set:
        logger.setLevel(logging.NOTSET)
    _set.clear()
    root = _find_logger(ROOT)
    if _handler is not None:
        root.removeHandler(_handler)
        _handler = None
    try:
        levels = parse_levels(text)
    except ValueError as error:
        # The library works without: an import must not fail for it.
        warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.setLevel(level)
        _set.append(logger)
    if levels:
        _handler = StderrHandler()
        root.addHandler(_handler)
