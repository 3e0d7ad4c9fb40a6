"""The mark that torch puts on the functions of its ``fx``, and that libraries put on theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["_BACK_COMPAT_OBJECTS", "_MARKED_WITH_COMPATIBILITY", "compatibility"]

_T = TypeVar("_T")
#: Functions and classes that a library promises to keep as they are.
_BACK_COMPAT_OBJECTS: Final[dict[Any, None]] = {}
#: All that have the mark.
_MARKED_WITH_COMPATIBILITY: Final[dict[Any, None]] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Return a decorator that notes whether a function may change between versions, and changes nothing.

    >>> @compatibility(is_backward_compatible=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """

    def note(function: _T) -> _T:
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS[function] = None
        _MARKED_WITH_COMPATIBILITY[function] = None
        return function

    return note
