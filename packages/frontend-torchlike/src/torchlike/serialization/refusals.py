"""The errors of `load` and `save`: a file's fault is a ``ValueError``, shown without control characters."""

from __future__ import annotations

import errno
import pickle
from typing import NoReturn

from dispatch_core import BackendError, DispatchError
from dispatch_core.escapes import to_printable


def shorten(text: object, *, length: int = 200, keep: str = "") -> str:
    r"""Return text from a file as a message shows it: escaped but for the characters to ``keep``, and cut.

    >>> shorten("a\x1bb"), shorten("abc", length=2)
    ('a\\x1bb', 'a…')
    """
    shown = to_printable(str(text), keep=keep)
    return shown if len(shown) <= length else f"{shown[: length - 1]}…"


def refuse(error: Exception, name: str, fault: str, callers: Exception | None) -> NoReturn:
    """Raise ``ValueError`` for whatever a wrong file led to.

    Errors of devices, disks and the caller, and of libraries that are not installed, are raised again.
    """
    # A place before the file's beginning is an invalid argument of the system's.
    is_of_disk = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
    if isinstance(error.__cause__, ImportError):
        error.add_note(f"It is needed by {to_printable(name)}.")
        raise error
    if error is callers or is_of_disk or isinstance(error, BackendError):
        raise error
    # Lines of our own errors are kept; other libraries' may be the file's.
    reason = shorten(error, length=1000, keep="\n" if isinstance(error, DispatchError) else "")
    # Without the cause: a traceback shows its text as it is.
    raise UnreadableFileError(f"{to_printable(name)} {fault}: {reason}") from None


class UnreadableFileError(ValueError, pickle.UnpicklingError):
    """A file that `load` does not read: it is damaged, or holds more than data."""


class NotSavedError(pickle.PicklingError, TypeError):
    """A value that `save` cannot write: ``what`` it is, and the ``value`` itself."""

    def __init__(self, what: str, value: object = None) -> None:
        super().__init__(what)
        self.what, self.value = what, value
