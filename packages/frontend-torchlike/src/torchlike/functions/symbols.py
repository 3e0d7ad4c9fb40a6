"""torch's functions of sizes, which are numbers here and never symbols (source: ``torch.sym_int`` and its like)."""

from __future__ import annotations

import math
import operator
from typing import Any, TypeVar

__all__ = ["sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"]

T = TypeVar("T")


def sym_int(a: Any) -> int:
    """Return a number as an integer, towards zero.

    >>> sym_int(-2.7)
    -2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """Return a number as a float.

    >>> sym_float(2)
    2.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """Return the negation of a condition.

    >>> sym_not(True)
    False
    """
    return operator.not_(a)


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, a float where one of them is.

    >>> sym_max(3, 2.0)
    3.0
    """
    return _widen(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers, a float where one of them is.

    >>> sym_min(1, 2.0)
    1.0
    """
    return _widen(min(a, b), a, b)


def _widen(found: Any, *given: Any) -> Any:
    return float(found) if any(isinstance(each, float) for each in given) else found


def sym_ite(b: Any, t: T, f: T) -> T:
    """Return one of two values of one type by a condition; raises ``AssertionError`` for anything but a bool.

    >>> sym_ite(False, 1, 2)
    2
    """
    assert isinstance(b, bool), f"expected SymBool or bool, got {type(b)}"
    assert type(t) is type(f), f"type mismatch: {type(t)} vs {type(f)}"
    return t if b else f


def sym_sum(args: Any) -> Any:
    """Return the sum of numbers in a list; anything else is a number of its own.

    >>> sym_sum([1, 2]), sym_sum(3)
    (3, 3)
    """
    return sum(args if isinstance(args, (list, tuple)) else (args,))


def sym_sqrt(a: Any) -> float:
    """Return the square root of a number.

    >>> sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)
