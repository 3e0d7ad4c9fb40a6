"""Compiled choices, fills and places of extreme elements against the kernels in Python, bit by bit."""

from __future__ import annotations

import itertools

import numpy as np
from test_layers import compare
from test_rows import dtype_of, values, ways

SHAPES = [
    (1,),
    (7,),
    (1, 1),
    (3, 5),
    (1, 6),
    (6, 1),
    (2, 3, 4),
    (2, 1, 4),
    (33, 31),
    (4095,),
    (4096,),
    (130, 500),
    (9, 1000),
]


def condition_of(shape, seed):
    return np.random.default_rng([seed, *shape]).random(shape) < 0.5


@ways("where")
def test_where(name, number):
    dtype = dtype_of(number)
    one, two = values(dtype, (), 1), values(dtype, (), 2)
    for shape in [*SHAPES, ()]:
        condition, a, b = condition_of(shape, 1), values(dtype, shape, 2), values(dtype, shape, 3)
        for args in ((a, b), (a, two), (one, b), (one, two)):
            compare(name, np.asarray(condition), *map(np.asarray, args))
    condition, a = condition_of((4, 6), 1), values(dtype, (4, 6), 2)
    compare(name, condition, a, a[0].copy(), served=False)
    compare(name, condition[:, ::2], a[:, ::2], a[:, ::2], served=False)
    compare(name, condition.astype(np.uint8), a, a, served=False)
    compare(name, condition, a, np.ones((4, 6), np.float16), served=False)
    compare(name, condition[:0], a[:0], a[:0], served=False)
    packed = np.zeros(4 * 6 * dtype.itemsize + 4, np.uint8)[4:].view(dtype).reshape(4, 6)
    compare(name, condition, packed, a, served=None)


@ways("masked fill")
def test_masked_fill(name, number):
    dtype = dtype_of(number)
    for shape, value in itertools.product([*SHAPES, ()], (0, -0.0, 2.5, float("inf"), float("nan"), 1e-50, 3, 2**53)):
        compare(name, np.asarray(values(dtype, shape, 1)), np.asarray(condition_of(shape, 2)), value)
    a, mask = values(dtype, (4, 6), 1), condition_of((4, 6), 2)
    for value in (1e39, -1e300, 2**53 + 1, True):
        compare(name, a, mask, value, served=False)
    compare(name, a, mask[0].copy(), 1.0, served=False)
    compare(name, a, mask.astype(np.uint8), 1.0, served=False)
    compare(name, a.T, mask.T, 1.0, served=False)


def arrays_of(dtype, shape, seed):
    """Return arrays, with nans and equal elements."""
    few = np.random.default_rng([seed, *shape]).integers(0, 3, shape).astype(dtype)
    return [values(dtype, shape, seed), few, np.zeros(shape, dtype)]


@ways("places")
def test_places_of_extreme_elements(name, number):
    dtype = dtype_of(number)
    for shape in SHAPES:
        for a in arrays_of(dtype, shape, 1):
            for args in ((), (None,), (None, False), *((dim,) for dim in range(-len(shape), len(shape)))):
                compare(name, a, *args)
            compare(name, a, 0, True, served=False)
            compare(name, a, len(shape), served=False)
    compare(name, np.asarray(dtype.type(3)))
    compare(name, a[::2], 0, served=False)
    compare(name, a[:0], served=False)


@ways("extremes")
def test_extreme_elements_along_a_dimension(name, number):
    dtype = dtype_of(number)
    for shape in SHAPES:
        for a, dim in itertools.product(arrays_of(dtype, shape, 1), range(-len(shape), len(shape))):
            compare(name, a, dim)
            compare(name, a, dim, False)
            compare(name, a, dim, True, served=False)
    compare(name, a, 7, served=False)
    compare(name, a[::2], 0, served=False)
    compare(name, np.asarray(dtype.type(3)), 0, served=False)
    compare(name, a[:, :0], 0, served=False)
