"""Conversions of many 16-bit floats, by the bits of whole tiles and by tables.

Note [Many halves]
NumPy converts ``float16`` one element after the other, and computes with it by converting. Where many are converted,
integers move the bits instead: those of a half, shifted to their place in a ``float32``, are the number divided by 2**112,
subnormal ones too. The way back first rounds to as many bits as a half has, by adding and taking away a number so much
greater that the sum has no room for more, which rounds ties to even. Infinities, nans and overflows are left to NumPy.
All of it is called without floating-point errors.

Note [Halves are looked up]
An operator of one array of 16-bit floats has no more than 65,536 results. When it is called a second time with the same
options on many elements, its own kernel makes the table of them, and elements are looked up from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from dispatch_core.caches import keep

from .arrays import FLOAT, HALF, NARROW, Array
from .ops.pointwise.numpy_formulas import CLIP
from .ops.support.compiled_kernels import LOOPS

MANY: Final = 1 << 13
"""From how many elements conversions by bits are faster than NumPy's."""
TILE: Final = 1 << 16
"""So many elements are converted at a time, so that the values between stay in the cache."""
FEW: Final = 64
"""Up to so many elements NumPy's own conversion is as fast as a compiled one."""
_compiled: Final[Callable[[Array, Array], bool]] = (lambda value, out: False) if LOOPS is None else LOOPS.convert
_INT: Final = np.dtype(np.int32)


def _constant(value: Any, dtype: np.dtype[Any]) -> Array:
    made = np.array(value, np.uint32).view(_INT) if dtype is _INT else np.array(value, dtype)
    made.flags.writeable = False
    return made


_THIRTEEN, _SIXTEEN = _constant(13, _INT), _constant(16, _INT)
_HALF_BITS, _EXPONENT, _SIGN = (_constant(bits, _INT) for bits in (0x8FFFE000, 0x7F800000, 0x8000))
_UP, _DOWN = _constant(2.0**112, FLOAT), _constant(2.0**-112, FLOAT)
_LEAST, _NO_LIMIT = _constant(2.0**-14, FLOAT), _constant(np.inf, FLOAT)
#: 1.5 times 2 to the number of bits that a ``float32`` has more than a half.
_ROUNDER: Final = _constant(1.5 * 2**13, FLOAT)
_INFINITE: Final = 0x7C00
_TOO_GREAT: Final = 0x47800000  # the bits of 65536.0
_greatest: Final[Any] = np.maximum.reduce
_clip: Final[Any] = np.clip if CLIP is None else CLIP


def _widen_tile(half: Array, out: Array) -> None:
    """Write halves to an array of ``float32``; see Note [Many halves]."""
    bits, words = half.view(np.int16), out.view(_INT)
    np.copyto(words, bits)
    np.left_shift(words, _THIRTEEN, words)
    np.bitwise_and(words, _HALF_BITS, words)
    np.multiply(out, _UP, out)
    if _greatest(bits) >= _INFINITE or _greatest(bits.view(np.uint16)) >= _INFINITE + 0x8000:
        (places,) = np.nonzero(np.absolute(out) >= 65536)
        out[places] = half[places]


def _narrow_tile(wide: Array, out: Array) -> None:
    """Write ``float32`` to an array of halves; see Note [Many halves]."""
    words = wide.view(_INT)
    power, rounded = np.bitwise_and(words, _EXPONENT), np.empty_like(wide)
    is_special = _greatest(power) >= _TOO_GREAT
    great = power.view(FLOAT)
    _clip(great, _LEAST, _NO_LIMIT, great)
    np.multiply(great, _ROUNDER, great)
    np.add(wide, great, rounded)
    np.subtract(rounded, great, rounded)
    np.multiply(rounded, _DOWN, rounded)
    bits = rounded.view(_INT)
    np.right_shift(bits, _THIRTEEN, bits)
    np.right_shift(words, _SIXTEEN, power)
    np.bitwise_and(power, _SIGN, power)
    np.bitwise_or(bits, power, bits)
    np.copyto(out.view(np.int16), bits, casting="unsafe")
    if is_special:
        (places,) = np.nonzero(~(np.absolute(wide) < 65536))
        out[places] = wide[places]


def _convert_tile(value: Array, out: Array) -> None:
    """Write a tile to one of another dtype; one of the two dtypes is ``float16``, and all goes by ``float32``."""
    if value.dtype is HALF:
        wide = out if out.dtype is FLOAT else np.empty(value.shape, FLOAT)
        _widen_tile(value, wide)
        if wide is not out:
            np.copyto(out, wide, casting="unsafe")
    else:
        _narrow_tile(value if value.dtype is FLOAT else value.astype(FLOAT), out)


def assign(out: Array, value: Any) -> None:
    """Do as ``np.copyto(out, value, casting="unsafe")``, with many halves by their bits.

    >>> assign(made := np.zeros(10_000, np.float16), np.full(10_000, 1 / 3, np.float32)); float(made[-1])
    0.333251953125
    """
    if LOOPS is not None and out.size > FEW and _compiled(value, out):
        return
    if (
        out.size < MANY
        or type(value) is not np.ndarray
        or (value.dtype is HALF) is (out.dtype is HALF)
        or value.shape != out.shape
        or value.dtype.kind == "c"
    ):
        np.copyto(out, value, casting="unsafe")
        return
    if not out.flags.c_contiguous:
        np.copyto(out, convert(value, out.dtype))
        return
    given, taken = np.ascontiguousarray(value).reshape(-1), out.reshape(-1)
    for start in range(0, taken.size, TILE):
        part = slice(start, start + TILE)
        _convert_tile(given[part], taken[part])


def _are_known(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Return whether one of two dtypes is ``float32`` and the other has 16 bits."""
    return (one is FLOAT and other in NARROW) or (other is FLOAT and one in NARROW)


def convert(array: Array, dtype: np.dtype[Any]) -> Array:
    """Do as ``array.astype(dtype)``, with many halves by their bits.

    >>> convert(np.full(10_000, 1.5, np.float16), np.dtype(np.float32))[-1]
    np.float32(1.5)
    """
    if LOOPS is not None and array.size > FEW and array.flags.c_contiguous and _are_known(array.dtype, dtype):
        made: Array = np.empty(array.shape, dtype)
        if _compiled(array, made):
            return made
    if array.size < MANY or (array.dtype is HALF) is (dtype is HALF) or array.dtype.kind == "c":
        return array.astype(dtype)
    out = np.empty_like(array, dtype)
    if out.flags.c_contiguous:
        assign(out, array)
    else:  # lies as the array does, so both are dense in the same order
        order = sorted(range(out.ndim), key=lambda dim: -out.strides[dim])
        if not (straight := out.transpose(order)).flags.c_contiguous:
            return array.astype(dtype)
        assign(straight, array.transpose(order))
    return out


#: Operator, dtype and options → the table; and those that were called once.
_tables: Final[dict[Any, Array]] = {}
_called: Final[dict[Any, bool]] = {}
_TABLES, _CALLED = 32, 256
#: From how many elements a table is worth while, as is computing in ``float32``; and from how many it is made.
LOOKED_UP, _MADE = 1 << 14, 1 << 15


#: The operators that are even simpler by their bits.
_BY_BITS: Final[dict[str, tuple[Any, Any]]] = {
    "neg": (np.bitwise_xor, np.uint16(0x8000)),
    "abs": (np.bitwise_and, np.uint16(0x7FFF)),
}


def look_up(name: str, kernel: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Array | None:
    """Return an operator's result for many 16-bit floats and options; None where it must be computed.

    See Note [Halves are looked up]. The result lies as the only array, which has no gaps.
    """
    places = [place for place, each in enumerate(args) if isinstance(each, np.ndarray)]
    if len(places) != 1:
        return None
    array = args[places[0]]
    if array.dtype not in NARROW or not array.flags.c_contiguous or array.size < LOOKED_UP:
        return None
    if (by_bits := _BY_BITS.get(name)) is not None:
        found: Array = by_bits[0](array.view(np.uint16), by_bits[1]).view(array.dtype)
        return found
    before, after = args[: places[0]], args[places[0] + 1 :]
    key = name, array.dtype, repr((before, after, sorted(kwargs.items())))
    table = _tables.get(key)
    if table is None:
        if array.size < _MADE:
            return None
        if key not in _called:
            keep(_called, key, True, _CALLED)
            return None
        every = np.arange(1 << 16, dtype=np.uint16).view(array.dtype).reshape(-1, MANY)
        table = np.concatenate([kernel(*before, part, *after, **kwargs) for part in every])
        keep(_tables, key, table, _TABLES)
    return _take(table, array)


def _take(table: Array, array: Array) -> Array:
    found = np.empty(array.shape, table.dtype)
    wide = table.dtype.itemsize == 2
    codes, taken = array.reshape(-1).view(np.uint16), found.reshape(-1)
    if wide:
        table, taken = table.view(np.uint16), taken.view(np.uint16)
    for start in range(0, taken.size, TILE):
        part = slice(start, start + TILE)
        table.take(codes[part], None, taken[part], "wrap")
    return found
