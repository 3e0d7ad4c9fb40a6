"""Questions about sizes that libraries ask; sizes are plain numbers here (source: ``…experimental.symbolic_shapes``)."""

from __future__ import annotations

from typing import Any

__all__ = [
    "GuardOnDataDependentSymNode",
    "free_symbols",
    "free_unbacked_symbols",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "is_concrete_bool",
    "is_concrete_int",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818  # torch's name
    """The error for a condition on a size that is not known; no size here is."""


def guard_or_false(a: Any) -> bool:
    """Return the truth of a condition on sizes.

    >>> guard_or_false(3 == 2 + 1)
    True
    """
    return bool(a)


guard_or_true = guard_size_oblivious = statically_known_true = guard_or_false


def statically_known_false(x: Any) -> bool:
    """Return whether a condition on sizes does not hold."""
    return not x


def free_symbols(val: Any) -> set[Any]:
    """Return the symbols in a size: none."""
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val: Any) -> bool:
    """Return whether a size has symbols: False."""
    return False


has_free_unbacked_symbols = has_free_symbols


def is_concrete_int(a: Any) -> bool:
    """Return whether a value is an int."""
    return isinstance(a, int)


def is_concrete_bool(a: Any) -> bool:
    """Return whether a value is a bool."""
    return isinstance(a, bool)


def sym_and(x: Any, *others: Any) -> bool:
    """Return whether all conditions hold."""
    return bool(x) and all(others)


def sym_or(x: Any, *others: Any) -> bool:
    """Return whether a condition holds."""
    return bool(x) or any(others)


def sym_eq(x: Any, y: Any) -> bool:
    """Return whether sizes, or lists of them, are equal."""
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(sym_eq, x, y))
    return bool(x == y)
