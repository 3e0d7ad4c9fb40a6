"""Calls of other sizes: around groups of 64 and 256, none, one, and many elements."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..changes import Arguments, arrays_in, map_arrays
from ..drawing import Array

#: Sizes of which one each is drawn: beside whole groups, whole groups or just below, and the smallest.
DRAWN: Final = ((65, 257, 1025), (63, 64, 255, 256), (0, 1))
#: The number of elements of a large array, and the most that an argument of another size may have.
LARGE: Final = 70_001
MOST: Final = 200_000


def resize(arguments: Arguments, size: int, random: Any) -> Arguments | None:
    """Return a call in which one size is another: that of the last dimension of the largest array, wherever it stands.

    Elements are drawn of those that there are, so that each lies where the operator is defined. None where no array has
    dimensions, one would be too large, or places might lie outside.

    >>> resize({"self": np.ones((2, 3)), "other": np.ones(3)}, 65, np.random.default_rng(0))["other"].shape
    (65,)
    """
    arrays = [array for array in arrays_in(arguments) if array.size]
    largest = max(arrays, key=lambda array: array.size, default=None)
    if largest is None or not largest.ndim:
        return None
    old = next((each for each in largest.shape[::-1] if each > 1), 1)
    if "indices" in arguments and size < old:
        return None  # places within the larger size need not lie within the smaller one

    def shape_of(array: Array) -> tuple[int, ...]:
        return tuple(size if each == old else each for each in array.shape)

    if max(int(np.prod(shape_of(array))) for array in arrays) > MOST:
        return None

    def change(array: Array) -> Array:
        if not array.size or old not in array.shape:
            return array
        return np.asarray(random.choice(array.reshape(-1), shape_of(array)), array.dtype)

    return dict(map_arrays(arguments, change))
