"""The mark that torch puts on the functions of its ``fx``, and that libraries put on theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["compatibility"]

_T = TypeVar("_T")


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Return a decorator that changes nothing: torch notes whether a function may change between its versions.

    >>> @compatibility(is_backward_compatible=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """

    def keep(function: _T) -> _T:
        return function

    return keep
