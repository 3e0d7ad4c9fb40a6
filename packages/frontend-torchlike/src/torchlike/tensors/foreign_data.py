"""Data of other libraries: whatever describes its elements by DLPack or as NumPy's arrays do, tables among them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

import dispatch_core
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.shapes import preserved_strides
from dispatch_core.frontends import array_type

from .arrays import check_dtype, from_numpy
from .tensor import Tensor

#: Types that are looked at element by element, or not at all.
_OURS: Final = (Tensor, np.ndarray, np.generic, list, tuple, str, bytes, bytearray, memoryview, int, float, complex)


#: The kinds of NumPy's dtypes of Python objects and of texts.
_NO_NUMBERS: Final = "OSUT"
#: Other kinds that tensors do not have → how they become numbers.
_HINTS: Final = {
    "M": "count the times from a first one, as (times - times[0]) / np.timedelta64(1, 's')",
    "m": "divide by a unit, as np.timedelta64(1, 's')",
    "V": "take one of its fields, or make a number type of them with numpy.lib.recfunctions.structured_to_unstructured",
}


def is_foreign(value: Any) -> bool:
    """Return whether a value describes elements in memory, as arrays and tables of other libraries do.

    >>> is_foreign([1, 2]), is_foreign(memoryview(b"ab"))
    (False, False)
    """
    if value is None or isinstance(value, _OURS):
        return False
    kind = type(value)
    return hasattr(kind, "__dlpack__") or hasattr(kind, "__array__") or hasattr(value, "__array_interface__")


def read_foreign(value: Any) -> Tensor | np.ndarray[Any, Any]:
    """Return the elements of a value that `is_foreign`, in its own memory where that is possible.

    By DLPack they come as a tensor on their device, otherwise as NumPy's array. Raises ``TypeError`` for elements that are
    no numbers, naming the first.
    """
    try:
        if hasattr(type(value), "__dlpack__"):
            from .dlpack import import_tensor  # few programs take memory so

            return import_tensor(value)
        array = np.asarray(value)
    except (BufferError, RuntimeError, ValueError):
        raise
    except TypeError:
        if array_type(value) is not None:  # the device says why its array has no elements to read
            dispatch_core.ops.prims.device_get(value)
        raise
    except Exception as error:  # the conversion is the library's, and may raise anything
        kind = type(value).__name__
        raise TypeError(f"{kind} cannot be converted to a tensor ({type(error).__name__}: {error})") from error
    if array.dtype.kind in _NO_NUMBERS:
        found = _describe_first(array, getattr(value, "columns", None))
        raise TypeError(
            f"can't convert {type(value).__name__} to a tensor: {found}\nHint: select or convert its numbers first"
        )
    return array


def _describe_first(array: np.ndarray[Any, Any], columns: Any = None) -> str:
    """Return the first element that is not a number, and where it stands."""
    for place, item in zip(np.ndindex(array.shape), array.flat, strict=True):
        if isinstance(item, (str, bytes)) or not isinstance(item, (int, float, complex, np.generic)):
            where = "".join(f"[{index}]" for index in place)
            column = "" if columns is None or array.ndim != 2 else f", in column {columns[place[1]]!r},"
            return f"element {where}{column} is {_name(item)}"
    return "its numbers are Python objects: give them a dtype with astype"


def _name(item: Any) -> str:
    return "None" if item is None else f"{item!r:.40} of type {type(item).__name__}"


def _to_native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of a dtype that tensors have: itself, or a copy in this machine's order of bytes.

    Raises ``TypeError`` for other dtypes.
    """
    if not array.dtype.isnative and array.dtype.kind in "iufc":
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.type.__module__ == "ml_dtypes" and str(array.dtype) in BY_NAME:
        return array
    try:
        check_dtype(array)
    except TypeError as error:
        kind = array.dtype.kind
        hint = _describe_first(array) if kind in _NO_NUMBERS else _HINTS.get(kind, "convert it first, with astype")
        raise TypeError(f"{error}\nHint: {hint}") from None
    return array


def share_array(array: np.ndarray[Any, Any]) -> Tensor | None:
    """Return a tensor in the memory of NumPy's array, or None where no tensor lies in memory as it does.

    Those are negative strides, strides between elements, the other order of bytes, and dtypes that NumPy itself lacks.
    Raises ``TypeError`` for a dtype that tensors do not have.
    """
    native = _to_native(array)
    is_regular = not array.size or all(
        size == 1 or (stride >= 0 and stride % array.itemsize == 0)
        for size, stride in zip(array.shape, array.strides, strict=True)
    )
    return from_numpy(array) if native is array and is_regular and array.dtype.isbuiltin == 1 else None


def copy_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the elements of NumPy's array in new memory, in a dtype that tensors have; ``TypeError`` for others.

    Its dimensions lie there in the same order.
    """
    native = _to_native(array)
    if native is not array:
        return native
    strides = [stride // native.itemsize for stride in native.strides]
    if native.flags.c_contiguous or any(stride < 0 for stride in strides):
        return native.copy()
    kept = [stride * native.itemsize for stride in preserved_strides(native.shape, tuple(strides))]
    copy = as_strided(np.empty(native.size, native.dtype), native.shape, kept)
    copy[...] = native
    return copy
