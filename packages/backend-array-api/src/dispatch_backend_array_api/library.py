"""An array library as the kernels see it: its namespace, its dtypes, and the functions that the standard leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DtypeError
from dispatch_aten.shapes import contiguous

Array: TypeAlias = Any
Kernel: TypeAlias = Callable[..., Any]

_CONVERT: Final = {"f": float, "c": complex, "b": bool}


class ArrayLibrary:
    """A namespace of the standard, with the functions that are needed beside it.

    ``get`` makes a NumPy array of an array, and ``put`` an array of NumPy's, a copy of it; ``assign(x, key, values, add)``
    gives ``x`` with other values, or values added, at ``x[key]``, without changing it. ``is_known`` tells whether an array's
    values can be looked at now, at no great cost.
    """

    def __init__(
        self,
        name: str,
        xp: Any,
        *,
        types: tuple[type, ...],
        get: Callable[[Array], Any],
        put: Callable[[Any], Array],
        assign: Callable[[Array, Any, Array, bool], Array] | None,
        is_known: Callable[[Array], bool],
        device: Any = None,
        explain: Callable[[str, Exception, Iterable[Any]], Exception | None] | None = None,
    ) -> None:
        self.name, self.xp, self.types, self.explain = name, xp, types, explain
        self.get, self.put, self.assign, self.is_known = get, put, assign, is_known
        self.options: dict[str, Any] = {} if device is None else {"device": device}
        self.dtypes = {dtype: found for dtype in ScalarType for found in _dtype_of(xp, dtype)}
        self.scalar_types = {self._key(dtype): each for each, dtype in self.dtypes.items()}

    def _key(self, dtype: Any) -> Any:
        """Return the dtype that arrays of it answer; a namespace may name it by another object."""
        return self.xp.empty((0,), dtype=dtype, **self.options).dtype

    def dtype(self, dtype: ScalarType) -> Any:
        """Return the library's object for a dtype.

        Raises ``DtypeError`` where it has none.
        """
        try:
            return self.dtypes[dtype]
        except KeyError:
            raise DtypeError(
                f"the device {self.name!r} has no arrays of dtype {dtype}",
                hint=f"it has {', '.join(map(str, self.dtypes))}",
            ) from None

    def dtype_of(self, array: Array) -> ScalarType:
        """Return an array's dtype.

        Raises ``DtypeError`` for one that torch does not know.
        """
        try:
            return self.scalar_types[array.dtype]
        except KeyError:
            raise DtypeError(f"an array of dtype {array.dtype} has no equivalent among torch's dtypes") from None

    def meta(self, value: Any) -> Any:
        """Return the description of an array, or of each in a list, for shape rules; anything else as it is."""
        if isinstance(value, self.types):
            array: Any = value
            return contiguous(tuple(array.shape), self.dtype_of(array))
        return [self.meta(each) for each in value] if isinstance(value, list | tuple) else value

    def cast(self, array: Array, dtype: ScalarType) -> Array:
        """Return an array of another dtype, or the same array."""
        wanted = self.dtype(dtype)
        have = self.dtype_of(array)
        if have is dtype:
            return array
        if have.is_complex and not dtype.is_complex and dtype is not ScalarType.Bool:
            array = self.xp.real(array)
        elif dtype is ScalarType.Bool:
            return array != self.xp.zeros((), dtype=array.dtype, **self.options)
        elif have.is_floating_point and dtype.is_integral and not dtype.is_signed:
            array = self.xp.astype(array, self.dtype(ScalarType.Long))  # negative numbers wrap around, as in torch
        return self.xp.astype(array, wanted)

    def full(self, shape: Iterable[int], value: Any, dtype: ScalarType) -> Array:
        """Return a new array of one number."""
        return self.xp.full(tuple(shape), number(value, dtype), dtype=self.dtype(dtype), **self.options)

    def indices(self, array: Array) -> Array:
        """Return positions as the library's 64-bit integers."""
        return self.xp.astype(array, self.dtype(ScalarType.Long), copy=False)


def _dtype_of(xp: Any, dtype: ScalarType) -> list[Any]:
    found = getattr(xp, dtype.short, None)
    return [] if found is None or dtype.is_quantized or dtype is ScalarType.ComplexHalf else [found]


def number(value: Any, dtype: ScalarType) -> Any:
    """Return a number as a dtype stores it: integers wrap around, and fractions are cut; a traced one as it is.

    >>> number(-1, ScalarType.Byte), number(2.7, ScalarType.Long), number(3, ScalarType.Float)
    (255, 2, 3.0)
    """
    if not is_number(value):
        return value
    if not dtype.is_integral:
        convert = _CONVERT["c" if dtype.is_complex else "f" if dtype.is_floating_point else "b"]
        return convert(value)
    low, high = dtype.bounds
    return (int(value) - low) % (high - low + 1) + low


#: Numbers of each kind of NumPy's dtypes.
_SAMPLES: Final = {"b": True, "i": 1, "u": 1, "f": 0.5, "c": 0.5j}


def is_number(value: Any) -> bool:
    """Return whether a number is one of Python's, and not one that a compiled program will be given."""
    return isinstance(value, bool | int | float | complex)


def sample(value: Any) -> Any:
    """Return a number of the same kind, for those who look at no more: itself, if it is one of Python's."""
    return value if is_number(value) else _SAMPLES[value.dtype.kind]


def axes(dim: Any) -> Any:
    """Return the standard's ``axis`` for torch's list of dimensions, where none and an empty list mean all."""
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(dim) or None


def as_numpy(array: Array) -> Any:
    """Return a read-only NumPy array of an array that speaks DLPack, or NumPy's own protocol; it may share the memory."""
    try:
        values = np.from_dlpack(array)
    except (AttributeError, BufferError, TypeError, RuntimeError, ValueError):
        values = np.asarray(array)
    if values.flags.writeable:
        values = values.view()
        values.flags.writeable = False
    return values
