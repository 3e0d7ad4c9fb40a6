"""Errors of another thread or process, which are raised again where they are wanted (source: ``torch._utils``)."""

from __future__ import annotations

import sys
import traceback
from typing import Any


class KeyErrorMessage(str):
    """The text of a ``KeyError``, which would show its ``repr``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An error with its class and its traceback as text, which can be sent to another process and raised there.

    Args:
        exc_info: The triple of ``sys.exc_info()``; that of the error that is handled now, where it is None.
        where: The place, in words, for the text of the error.

    >>> try:
    ...     [][0]
    ... except IndexError:
    ...     failure = ExceptionWrapper(where="in a thread")
    >>> failure.reraise()
    Traceback (most recent call last):
        ...
    IndexError: Caught IndexError in a thread.
    ...
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = kind, where
        self._name = getattr(kind, "__name__", "")
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))

    def reraise(self) -> None:
        """Raise the error; one that takes other arguments than a text becomes a ``RuntimeError``."""
        kind: Any = self.exc_type
        text = f"Caught {self._name} {self.where}.\nOriginal {self.exc_msg}"
        try:
            error = kind(message=text) if getattr(kind, "message", None) else kind(KeyErrorMessage(text))
        except Exception:  # noqa: BLE001  # a class of the user's may raise anything
            raise RuntimeError(text) from None
        if kind is not KeyError and not getattr(kind, "message", None):
            error.args = (text,)
        raise error
