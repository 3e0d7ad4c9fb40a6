"""Count keys in chunks, on workers: tasks name this module, which they have installed.

Note [Keys]
    The bits of a number, as an unsigned integer of the same size, in the numbers' order: negative floats are inverted, the
    sign of others is set. Zeros have one key, and so has each nan, the greatest one, as it is sorted last.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def keys_of(values: Any) -> Any:
    """Return the keys of numbers; see Note [Keys].

    >>> keys_of(np.array([-2, 0, 3], np.int8))
    array([126, 128, 131], dtype=uint8)
    """
    bits = 8 * values.dtype.itemsize
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    sign = unsigned.type(1 << (bits - 1))
    if values.dtype.kind != "f":
        return values if values.dtype.kind == "u" else values.view(unsigned) ^ sign
    found = (values + values.dtype.type(0)).view(unsigned)  # -0.0 + 0.0 is 0.0
    found = np.where(found & sign, ~found, found | sign)
    found[np.isnan(values)] = unsigned.type((1 << bits) - 1)
    return found


def numbers_of(keys: Any, dtype: Any) -> Any:
    """Return the numbers that keys represent.

    >>> numbers_of(keys_of(np.array([-1.5, 0.0, np.nan])), np.dtype(float))
    array([-1.5,  0. ,  nan])
    """
    dtype, bits = np.dtype(dtype), 8 * keys.dtype.itemsize
    sign = keys.dtype.type(1 << (bits - 1))
    if dtype.kind == "u":
        return keys
    if dtype.kind != "f":
        return (keys ^ sign).view(dtype)
    found = np.where(keys & sign, keys ^ sign, ~keys).view(dtype)
    return np.where(keys == keys.dtype.type((1 << bits) - 1), dtype.type(np.nan), found)


def _lanes(chunk: Any, axes: tuple[int, ...]) -> Any:
    """Return the chunk as a matrix: a row for each element along ``axes``, in their order, a column for each lane."""
    first = np.moveaxis(chunk, axes, range(len(axes)))
    count = int(np.prod(first.shape[: len(axes)], dtype=np.int64))
    return np.ascontiguousarray(first.reshape(count, -1))


def count_digits(chunk: Any, known: Any, *, axes: tuple[int, ...], shift: int, bits: int) -> Any:
    """Count the keys of a chunk by their digit behind the ``known`` ones, for each rank (r, lanes...).

    Returns (1..., r, lanes..., 2**bits) with a 1 for each of ``axes``.
    """
    keys, wanted = keys_of(_lanes(chunk, axes)), known.reshape(len(known), -1)
    size, lanes = 1 << bits, keys.shape[1]
    unsigned = keys.dtype.type
    digits = ((keys >> unsigned(shift)) & unsigned(size - 1)).astype(np.int64)
    places = digits + np.arange(lanes) * size
    is_first = shift + bits >= 8 * keys.dtype.itemsize
    found = np.empty((len(wanted), lanes * size), np.int64)
    for rank, prefix in enumerate(wanted):
        if rank and np.array_equal(prefix, wanted[rank - 1]):
            found[rank] = found[rank - 1]
            continue
        chosen = places.ravel() if is_first else places[(keys >> unsigned(shift + bits)) == prefix]
        found[rank] = np.bincount(chosen, minlength=lanes * size)
    return found.reshape((1,) * len(axes) + known.shape + (size,))


def choose_digit(counts: Any, known: Any, ranks: Any, *, bits: int) -> Any:
    """Return (2, r, lanes...): the known digits with the next one, where a rank lies, and the rank behind it."""
    ends = np.cumsum(counts, axis=-1)
    digit = np.minimum((ends <= ranks[..., None]).sum(-1), counts.shape[-1] - 1)
    before = np.take_along_axis(ends - counts, digit[..., None], -1)[..., 0]
    dtype = known.dtype.type
    keys = (
        digit.astype(known.dtype) if 8 * known.dtype.itemsize <= bits else (known << dtype(bits)) | digit.astype(dtype)
    )
    return np.stack([keys.astype(np.uint64), (ranks - before).astype(np.uint64)])


def count_equal(chunk: Any, keys: Any, *, axes: tuple[int, ...]) -> Any:
    """Count the elements of a chunk that have a lane's key: (1, lanes...)."""
    lanes = _lanes(chunk, axes)
    return (keys_of(lanes) == keys.reshape(1, -1)).sum(0).reshape((1, *keys.shape))


def find_equal(chunk: Any, keys: Any, before: Any, ranks: Any, start: Any, *, axis: int) -> Any:
    """Return the position of the element of a rank among those with a lane's key, -1 if another chunk has it: (1, lanes...).

    ``before`` says how many of them earlier chunks have, ``start`` at which position this chunk begins.
    """
    is_equal = keys_of(_lanes(chunk, (axis,))) == keys.reshape(1, -1)
    nth = np.cumsum(is_equal, axis=0) - 1 + before.reshape(1, -1)
    hit = is_equal & (nth == ranks.reshape(1, -1))
    place = np.where(hit.any(0), hit.argmax(0) + int(start[0]), -1)
    return place.reshape((1, *keys.shape))
