"""Arrays whose elements show what a kernel does with special values."""

from __future__ import annotations

import numpy as np


def values(dtype, shape, seed):
    """Draw elements, of which many are special: zeros of both signs, infinities, nans, the greatest and the smallest."""
    draw = np.random.default_rng([seed, *shape])
    size = int(np.prod(shape))
    if dtype.kind == "b":
        return draw.integers(0, 2, size).astype(dtype).reshape(shape)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        few = np.array([0, 1, 2, limits.max, limits.min, limits.max - 1], dtype)
        small = draw.integers(0, 63, size).astype(dtype)
        return np.where(draw.random(size) < 0.3, draw.choice(few, size), small).reshape(shape)
    if dtype.kind == "c":
        part = np.dtype(dtype.char.lower())
        made = np.empty(shape, dtype)
        made.real, made.imag = values(part, shape, seed), values(part, shape, seed + 1)
        return made
    limits = np.finfo(dtype)
    few = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        limits.max,
        limits.min,
        limits.tiny,
        limits.smallest_subnormal,
        1.0,
        -1.0,
    ]
    found = draw.standard_normal(size) * draw.choice([1e-3, 1.0, 30.0, 1e8], size)
    return np.where(draw.random(size) < 0.2, draw.choice(few, size), found).astype(dtype).reshape(shape)
