"""The operator library's dtypes, of which the core itself knows none.

A dtype is an object of a class with ``__schema_type__ = "ScalarType"``. Its numbers stand in schemas alone: a kernel
receives the dtype where a schema's default spells the number, and no call may pass a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_BY_NUMBER: Final[dict[int, object]] = {}
_BY_TYPE: Final[dict[type, object]] = {}
_CLASSES: Final[list[type]] = []
#: The operator library's rule of promotion, last; see `declare_promotion`.
PROMOTIONS: Final[list[Callable[..., Any]]] = []


def declare_dtypes(cls: type, *, numbers: Mapping[int, object], types: Mapping[type, object]) -> None:
    """Declare the class of the operator library's dtypes.

    ``numbers`` maps the numbers that schemas use to dtypes, and ``types`` maps the Python types that users may pass
    instead (``dtype=float``). The class's ``__name__`` stands in error messages.
    """
    _CLASSES.append(cls)
    _BY_NUMBER.update(numbers)
    _BY_TYPE.update(types)


def declare_promotion(promote: Callable[..., Any]) -> None:
    """Declare the operator library's rule: ``promote`` returns the dtype in which operands are computed together.

    Each is a number, or a pair of a dtype and the number of dimensions.
    """
    PROMOTIONS.append(promote)


def is_dtype(value: object) -> bool:
    """Return whether a value is a dtype of a declared class."""
    return getattr(type(value), "__schema_type__", "") == "ScalarType"


def dtype_of_number(number: object) -> object:
    """Return the dtype that a schema's number stands for; anything else, and an unknown number, as it is."""
    return _BY_NUMBER.get(number, number) if type(number) is int else number


def dtype_of_type(value: object) -> object | None:
    """Return the dtype that a Python type stands for, or None."""
    return _BY_TYPE.get(value) if type(value) is type else None


def suggest_dtype(value: object) -> str:
    """Return ``"; did you mean …?"`` where a text or another library's dtype has the name of one, else nothing."""
    name = value if isinstance(value, str) else str(getattr(value, "name", None) or getattr(value, "__name__", ""))
    found = {getattr(dtype, "short", str(dtype)): dtype for dtype in _BY_NUMBER.values()}.get(name.rpartition(".")[2])
    return "" if found is None else f"; did you mean {found!r}?"


def spoken_name() -> str:
    """Return the users' name of the class of dtypes."""
    return _CLASSES[-1].__name__ if _CLASSES else "dtype"
