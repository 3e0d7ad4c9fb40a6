"""The algorithms of torch's distributions: draws of an engine, stored in an array or as a new vector."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from dispatch_aten.errors import OperatorError

from .arrays import Array, memory_order, reinterpret
from .mersenne_twister import MersenneTwister
from .ops.support.constants import NUMBERS, number
from .output_specs import half_as_float

_BLOCK: Final = 16
_INT64: Final = np.dtype(np.int64)


def _in_memory_order(array: Array) -> Array:
    """Return a view whose rows are in the order of memory, in which torch draws."""
    return array if array.flags.c_contiguous else array.transpose(memory_order(array))


def _fill(array: Array, values: Array) -> None:
    """Store drawn values, in the order in which the elements lie in memory."""
    if array.ndim == 1:
        array[...] = values
        return
    target = _in_memory_order(array)
    np.copyto(target, values.reshape(target.shape), casting="unsafe")


def _parts(array: Array) -> Array:
    """Return the real and imaginary parts of complex numbers, in the same memory."""
    dtype = array.real.dtype
    return reinterpret(array, dtype, (*array.shape, 2), (*array.strides, dtype.itemsize))


def fill_uniform(engine: MersenneTwister, array: Array, low: float = 0.0, high: float = 1.0) -> None:
    """Store numbers of ``[low, high)``."""
    if array.dtype.kind == "c":
        array = _parts(array)
    _fill(array, draw_uniform(engine, array.size, array.dtype, low, high))


def draw_uniform(
    engine: MersenneTwister, size: int, dtype: np.dtype[Any], low: float = 0.0, high: float = 1.0
) -> Array:
    """Return a vector of numbers of ``[low, high)``."""
    draws = engine.uniform(size, dtype)
    if low == 0 and high == 1 and dtype is draws.dtype:
        return draws
    bounds = _find_bounds(low, high, dtype)
    values = _spread(draws, bounds, dtype)
    if bounds.is_reached:
        # The upper bound is excluded; a value that is rounded up to it becomes the lower bound.
        values[values == bounds.high] = bounds.low
    return values


class _Bounds(NamedTuple):
    """The numbers by which a range of a dtype is computed; whether a draw may be rounded up to its upper bound."""

    low: Any
    span: Array
    high: Any
    is_reached: bool


@lru_cache(maxsize=256)
def _find_bounds(low: float, high: float, dtype: np.dtype[Any]) -> _Bounds:
    wide = half_as_float(dtype).type
    least, most = wide(low), wide(high)
    found = _Bounds(np.array(least, np.float64), np.array(most - least, np.float64), most, is_reached=False)
    greatest_draw = np.array([1 - 2.0 ** (-53 if dtype.char == "d" else -24)])
    return found._replace(is_reached=bool(_spread(greatest_draw, found, dtype)[0] == most))


def _spread(draws: Array, bounds: _Bounds, dtype: np.dtype[Any]) -> Array:
    """Return draws of [0, 1) in a range.

    torch multiplies and adds in one step, which rounds once: float64 is exact enough for the product.
    """
    exact = draws.astype(np.float64, copy=False)
    exact *= bounds.span
    exact += bounds.low
    return exact.astype(half_as_float(dtype), copy=False).astype(dtype, copy=False)


def fill_plain_uniform(engine: MersenneTwister, array: Array, low: float, high: float) -> None:
    """Do as `fill_uniform` for floats or doubles without gaps."""
    if engine.compiled is not None and low == 0 and high == 1:
        engine.compiled.uniform(engine.capsule, array)
        return
    drawn = draw_uniform(engine, array.size, array.dtype, low, high)
    array[...] = drawn if array.ndim == 1 else drawn.reshape(array.shape)


def fill_plain_normal(engine: MersenneTwister, array: Array, mean: float, std: float) -> None:
    """Do as `fill_normal` for floats or doubles without gaps."""
    if engine.compiled is not None:
        engine.spare_normal = engine.compiled.normal(engine.capsule, array, mean, std, engine.spare_normal)
        return
    drawn = draw_normal(engine, array.size, array.dtype, mean, std)
    array[...] = drawn if array.ndim == 1 else drawn.reshape(array.shape)


def fill_normal(engine: MersenneTwister, array: Array, mean: float = 0.0, std: float = 1.0) -> None:
    """Store normal numbers."""
    if array.dtype.kind == "c":
        # Each part has half of the variance.
        array, std = _parts(array), std / math.sqrt(2)
    if array.flags.c_contiguous:
        _fill(array, draw_normal(engine, array.size, array.dtype, mean, std))
    else:
        _fill(array, np.asarray(draw_normal_singly(engine, array.size)) * std + mean)


def draw_normal(engine: MersenneTwister, size: int, dtype: np.dtype[Any], mean: float = 0.0, std: float = 1.0) -> Array:
    """Return a vector of normal numbers."""
    if engine.compiled is not None and dtype in NUMBERS and type(mean) is float and type(std) is float:
        made = np.empty(size, dtype)
        fill_plain_normal(engine, made, mean, std)
        return made
    if size < _BLOCK:
        return np.array([each * std + mean for each in draw_normal_singly(engine, size)], np.float64).astype(
            dtype, copy=False
        )
    drawn = _normal_blocks(engine, size, dtype)
    if std != 1:
        drawn *= number(std, drawn)
    drawn += number(mean, drawn)  # which makes 0.0 of -0.0
    return drawn


def _normal_blocks(engine: MersenneTwister, size: int, dtype: np.dtype[Any]) -> Array:
    """Draw by Box and Muller in blocks of sixteen; where the last block is cut, the last sixteen are drawn again."""
    whole = size - size % _BLOCK
    # The draws of the cut block are thrown away, but for float16 and bfloat16, where torch does not draw them.
    again = 0 if whole == size else _BLOCK
    drawn = whole if dtype.char in "eE" else size
    draws = engine.uniform(drawn + again, dtype)
    if again:
        draws[whole : whole + _BLOCK] = draws[drawn:]
    result = np.empty(whole + again, draws.dtype)
    for start in range(0, whole + again, _TILE):
        stop = min(start + _TILE, whole + again)
        _box_muller(draws[start:stop], result[start:stop])
    if not again:
        return result
    made = np.empty(size, draws.dtype)
    made[:-_BLOCK] = result[: size - _BLOCK]
    made[-_BLOCK:] = result[whole:]
    return made


_TILE: Final = 32768  # elements whose intermediate values stay in the cache


def _box_muller(draws: Array, out: Array) -> None:
    """Make the first half of each block of radii, the second of angles; rows of eight would be slow to go through."""
    pairs, places = draws.reshape(-1, 2, _BLOCK // 2), out.reshape(-1, 2, _BLOCK // 2)
    radius = number(1, draws) - pairs[:, 0].copy()
    np.log(radius, radius)
    radius *= number(-2, draws)
    np.sqrt(radius, radius)
    theta = pairs[:, 1] * number(2 * math.pi, draws)
    part = np.cos(theta)
    part *= radius
    places[:, 0] = part
    np.sin(theta, theta)
    theta *= radius
    places[:, 1] = theta


def draw_normal_singly(engine: MersenneTwister, size: int) -> list[float]:
    """Draw in double precision two at a time, keeping the second for the next call."""
    result: list[float] = []
    while len(result) < size:
        if engine.spare_normal is not None:
            result.append(engine.spare_normal)
            engine.spare_normal = None
            continue
        first, second = engine.two_uniform()
        radius, theta = math.sqrt(-2 * math.log1p(-second)), 2 * math.pi * first
        engine.spare_normal = radius * math.sin(theta)
        result.append(radius * math.cos(theta))
    return result


def fill_integers(engine: MersenneTwister, array: Array, low: int, high: int) -> None:
    """Draw from [low, high) by the remainder of a draw, a long one where the range needs it."""
    span = high - low
    if span < _LONG_RANGE:
        if engine.compiled is not None:
            made = np.empty(array.size, np.int64)
            engine.compiled.integers(engine.capsule, made, low, span)
            _fill(array, made)
            return
        # 32 bits divide in a fraction of the time of 64.
        offsets = (engine.words(array.size).astype(np.uint32) % np.uint32(span)).astype(np.int64)
        if low:
            offsets += low
        _fill(array, offsets)
        return
    draws = engine.double_words(array.size)
    long_offsets = draws if span > 0xFFFFFFFFFFFFFFFF else draws % np.uint64(span)
    # The sum wraps around as in C, so a range of all 64 bits works as well.
    _fill(array, (long_offsets + np.uint64(low & 0xFFFFFFFFFFFFFFFF)).view(np.int64))


_LONG_RANGE: Final = 1 << 28


def greatest(dtype: np.dtype[Any]) -> int:
    """Return the greatest integer up to which ``dtype`` counts exactly."""
    return {"?": 1, "e": 1 << 11, "E": 1 << 8, "f": 1 << 24, "d": 1 << 53}.get(dtype.char) or int(np.iinfo(dtype).max)


def fill_whole_range(engine: MersenneTwister, array: Array) -> None:
    """Draw from all that the dtype counts exactly, from 0 upwards."""
    draws = engine.double_words(array.size) if array.dtype.char in "dlq" else engine.words(array.size)
    _fill(array, draws % np.uint64(greatest(array.dtype) + 1))


def fill_exponential(engine: MersenneTwister, array: Array, lambd: float = 1.0) -> None:
    """Store exponential numbers."""
    draws = engine.uniform(array.size, np.dtype(np.float64))
    _fill(array, -1 / lambd * np.log1p(-draws))


def fill_bernoulli(engine: MersenneTwister, array: Array, p: Any = 0.5) -> None:
    """Store ones with a probability, or with one for each element, and zeros."""
    if isinstance(p, np.ndarray):
        if p.size and not (p.min() >= 0 and p.max() <= 1):
            raise OperatorError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.", argument="p")
        wanted = np.broadcast_to(p, array.shape).transpose(memory_order(array))
        _fill(array, engine.uniform(array.size, p.dtype).reshape(wanted.shape) < wanted)
        return
    _fill(array, engine.uniform(array.size, np.dtype(np.float64)) < p)


def fill_cauchy(engine: MersenneTwister, array: Array, median: float = 0.0, sigma: float = 1.0) -> None:
    """Store numbers of Cauchy's distribution."""
    draws = engine.uniform(array.size, np.dtype(np.float64))
    _fill(array, median + sigma * np.tan(math.pi * (draws - 0.5)))


def fill_log_normal(engine: MersenneTwister, array: Array, mean: float = 1.0, std: float = 2.0) -> None:
    """Store exponentials of normal numbers."""
    _fill(array, np.exp(np.asarray(draw_normal_singly(engine, array.size)) * std + mean))


def fill_geometric(engine: MersenneTwister, array: Array, p: float) -> None:
    """Store the number of attempts until the first success."""
    draws = engine.uniform(array.size, np.dtype(np.float64))
    _fill(array, np.ceil(np.log(draws) / math.log1p(-p)))


def fill_permutation(engine: MersenneTwister, array: Array) -> None:
    """Shuffle by Fisher and Yates, from the front."""
    count = array.size
    if engine.compiled is not None:
        made = array if array.dtype is _INT64 and array.flags.carray else np.empty(count, np.int64)
        engine.compiled.permutation(engine.capsule, made)
        if made is not array:
            array[...] = made
        return
    draws = engine.words(max(count - 1, 0)) % np.arange(count, 1, -1, dtype=np.uint64)
    if count >= _LONG_SHUFFLE:
        array[...] = _shuffle(draws.view(np.int64), count)
        return
    order = list(range(count))
    for place, step in enumerate(draws.tolist()):
        other = place + step
        order[place], order[other] = order[other], order[place]
    array[...] = order


_LONG_SHUFFLE: Final = 256


def _shuffle(draws: Array, count: int) -> Array:
    """Return where the elements are after step after step has exchanged ``place`` and ``place + draws[place]``.

    A step leaves in its place for good what the last step before it with the same partner has put there: the element of
    that step's own place at that time, which is found by going from step to step until none has written to the place.
    """
    places = np.arange(count)
    partners = places.copy()
    partners[:-1] += draws
    # Place → the last step before its own that has written to it, else itself; the last write to a place counts.
    origin = np.arange(count + 1)
    origin[np.where(partners == places, count, partners)] = places
    origin[count] = count
    while not np.logical_and.reduce((further := origin.take(origin)) == origin):
        origin = further
    # Steps with the same partner beside each other, in their order.
    keys = (partners << 32) | places
    keys.sort()
    partners, places = keys >> 32, keys & 0xFFFFFFFF
    taken = partners.copy()
    again = partners[1:] == partners[:-1]
    taken[1:][again] = origin[places[:-1][again]]
    found = np.empty(count, np.int64)
    found[places] = taken
    return found
