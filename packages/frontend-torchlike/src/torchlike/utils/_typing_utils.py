"""Helpers for type checkers that change nothing when they run (source: ``torch.utils._typing_utils``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def not_none(obj: T | None) -> T:
    """Return a value that is not None; raises ``TypeError`` for None.

    >>> not_none(3)
    3
    """
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj


def copy_func_params(source_func: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator that changes nothing: it gives a function the arguments of another one for type checkers."""
    return _keep


def _keep(func: F) -> F:
    return func


copy_method_params = copy_func_sig = copy_method_sig = copy_func_params
