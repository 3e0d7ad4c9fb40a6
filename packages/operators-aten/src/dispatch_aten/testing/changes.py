"""Changes of a call: the same with other dtypes, sizes and values, and other layouts in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from .drawing import Array

Arguments: TypeAlias = dict[str, Any]


def arrays_in(value: Any) -> Iterator[Array]:
    """Yield the arrays among arguments, those of lists included."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(each)


def map_arrays(value: Any, change: Callable[[Array], Any]) -> Any:
    """Return arguments with each array changed.

    >>> map_arrays({"x": [np.ones(2)], "dim": 0}, len)
    {'x': [2], 'dim': 0}
    """
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, dict):
        return {key: map_arrays(each, change) for key, each in value.items()}
    return [map_arrays(each, change) for each in value] if isinstance(value, list | tuple) else value


def _is_inexact(array: Array) -> bool:
    return array.dtype.kind in "fc"


def _change_floats(change: Callable[[Array], Array]) -> Callable[[Arguments], Arguments | None]:
    """Return a change of every array of floats; None where there is none, or nothing changes."""

    def make(arguments: Arguments) -> Arguments | None:
        changed = False

        def one(array: Array) -> Array:
            nonlocal changed
            if not _is_inexact(array):
                return array
            changed = True
            return change(array)

        found = map_arrays(arguments, one)
        return found if changed else None

    return make


def _to_single(array: Array) -> Array:
    return array.astype("complex64" if array.dtype.kind == "c" else "float32")


def _to_integers(dtype: str) -> Callable[[Array], Array]:
    def change(array: Array) -> Array:
        values = np.rint(array.real * 3.0)
        return (np.abs(values) if dtype.startswith("u") else values).astype(dtype)

    return change


def with_dtype(arguments: Arguments, dtype: str) -> Arguments | None:
    """Return a call with arrays of a dtype for its arrays of floats; None where there is none.

    >>> with_dtype({"self": np.ones(2), "dim": 0}, "int8")["self"]
    array([3, 3], dtype=int8)
    """
    if dtype == "bool":
        return _change_floats(lambda array: array.real > 0)(arguments)
    if "int" in dtype:
        return _change_floats(_to_integers(dtype))(arguments)
    if dtype.startswith("complex"):
        return _change_floats(lambda array: array.astype(dtype))(arguments)
    return _change_floats(lambda array: array.real.astype(dtype))(arguments)


def _with_special_values(array: Array) -> Array:
    found = array.copy()
    places = found.reshape(-1)[:3]
    places[:] = [np.nan, np.inf, -np.inf][: len(places)]
    return found


def _mix(arguments: Arguments) -> Arguments | None:
    """Make the first of several arrays of floats an array of integers."""
    floats = [array for array in arrays_in(arguments) if _is_inexact(array)]
    if len(floats) < 2:
        return None
    return dict(map_arrays(arguments, lambda array: _to_integers("int64")(array) if array is floats[0] else array))


def _without_elements(array: Array) -> Array:
    return array[:0] if array.ndim else array


def _without_dimensions(array: Array) -> Array:
    return array.reshape(-1)[:1].reshape(()) if array.size else array


#: Name → a function of a call's arguments, which returns the changed ones, or None where they do not change.
CHANGES: Final[dict[str, Callable[[Arguments], Arguments | None]]] = {
    "float32": _change_floats(_to_single),
    "int64": _change_floats(_to_integers("int64")),
    "uint8": _change_floats(_to_integers("uint8")),
    "bool": _change_floats(lambda array: array.real > 0),
    "int and float": _mix,
    "nan": _change_floats(_with_special_values),
    "0-d": _change_floats(_without_dimensions),
    "empty": _change_floats(_without_elements),
}

#: How arrays with dimensions lie in memory, where not row by row.
LAYOUTS: Final = ("transposed", "with gaps")
