"""Calls with other dtypes and values."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..changes import Arguments, arrays_in, map_arrays
from ..drawing import Array

#: Values that kernels treat in different ways, in the order of the first array; others begin further on.
SPECIAL: Final = (np.nan, -0.0, 1.0, np.inf, 0.0, -np.inf, -1.0)


def is_float(array: Array) -> bool:
    """Return whether an array has floats or complex numbers, which are the ones that changes are about."""
    return array.dtype.kind in "fc"


def cast(arguments: Arguments, dtype: str, *, by_zero: bool = True) -> Arguments | None:
    """Return the call with arrays of a dtype instead of floats, integers without zeros unless ``by_zero``.

    None where there are no floats.
    """

    def change(array: Array) -> Array:
        if not is_float(array):
            return array
        kind = np.dtype(dtype).kind
        if kind not in "iu":
            return array.real.astype(dtype)
        values = np.rint(array.real * 3)
        values = values if by_zero else np.where(values == 0, 2, values)
        return (np.abs(values) if kind == "u" else values).astype(dtype)

    found = _change_floats(arguments, change)
    if found is not None and np.dtype(dtype).kind in "iu":
        # Their whole part counts for integers: of a fraction below 1 nothing would be left to compare.
        found |= {key: 2 for key in ("alpha", "beta") if isinstance(found.get(key), float)}
    return found


def specialize(arguments: Arguments) -> Arguments | None:
    """Return the call with nan, infinities and zeros of both signs at other places in each array."""
    number = -1

    def change(array: Array) -> Array:
        nonlocal number
        if array.dtype.kind != "f":
            return array
        number += 1
        found = array.copy()
        flat = found.reshape(-1)
        flat[: len(SPECIAL)] = [SPECIAL[(place + 2 * number) % len(SPECIAL)] for place in range(len(flat))][
            : len(SPECIAL)
        ]
        return found

    return _change_floats(arguments, change)


def extremes(arguments: Arguments, dtype: str, random: Any) -> Arguments | None:
    """Return the call with integers from the ends of a dtype, and near zero."""
    info = np.iinfo(dtype)
    values = np.array(sorted({info.min, info.min + 1, info.max, info.max - 1, 0, 1, max(info.min, -1)}), dtype)
    return _change_floats(arguments, lambda array: random.choice(values, array.shape) if is_float(array) else array)


def negate(arguments: Arguments, dtype: str) -> Arguments | None:
    """Return the call with negative values alone."""

    def change(array: Array) -> Array:
        return (-1 - np.abs(np.rint(array.real * 3))).astype(dtype) if is_float(array) else array

    return _change_floats(arguments, change)


def tie(arguments: Arguments, random: Any) -> Arguments | None:
    """Return the call with many equal elements."""
    return _change_floats(
        arguments, lambda array: random.choice(np.array([0.0, 1.0]), array.shape) if is_float(array) else array
    )


def mix(arguments: Arguments, dtypes: tuple[str, str]) -> Arguments | None:
    """Return the call with the first array of floats of one dtype, and the others of another, both of integers."""
    first = next((array for array in arrays_in(arguments) if is_float(array)), None)
    if first is None:
        return None

    def change(array: Array) -> Array:
        if not is_float(array):
            return array
        dtype = dtypes[0] if array is first else dtypes[1]
        info = np.iinfo(dtype)
        span = [200, info.max, -3, info.min, 0, 1]
        return np.resize(np.array([each for each in span if info.min <= each <= info.max], dtype), array.shape)

    return _change_floats(arguments, change)


def _change_floats(arguments: Arguments, change: Any) -> Arguments | None:
    """Return the changed call; None where it has no floats."""
    if not any(is_float(array) for array in arrays_in(arguments)):
        return None
    return dict(map_arrays(arguments, change))
