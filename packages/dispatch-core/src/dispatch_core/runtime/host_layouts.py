"""How arrays of the host lie in memory, whose copies another library has made."""

from __future__ import annotations

from typing import Any

__all__ = ["lay_out_host"]


def lay_out_host(array: Any, strides: tuple[int, ...]) -> Any:
    """Return NumPy's array with these strides, counted in elements, of a layout without gaps: a copy where it has others.

    >>> import numpy as np
    >>> lay_out_host(np.zeros((2, 3)), (1, 2)).strides
    (8, 16)
    """
    steps = zip(array.shape, array.strides, strides, strict=True)
    if not array.size or all(size == 1 or have == step * array.itemsize for size, have, step in steps):
        return array
    order = sorted(range(array.ndim), key=strides.__getitem__, reverse=True)
    return array.transpose(order).copy("C").transpose([order.index(dim) for dim in range(array.ndim)])
