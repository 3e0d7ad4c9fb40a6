"""Python's numbers and nested sequences as arrays: the shape, the dtype and the numbers that torch reads in them.

NumPy reads sequences of plain numbers, which is fast. Everything else is walked through: numbers of NumPy's and tensors keep
their dtypes, other objects represent numbers where a dtype is given, and a fault gets torch's words.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import BY_NAME, ScalarType, get_default_dtype
from dispatch_core.tracebacks import trim_traceback

from ..tensors.arrays import check_dtype, read_elements
from ..tensors.foreign_data import is_foreign, read_foreign
from ..tensors.tensor import Tensor
from ..values.dtypes import promote_types, to_numpy_dtype

_PLAIN: Final = frozenset({bool, int, float, complex})
#: NumPy's limit, which also ends lists that hold themselves.
_MOST_DIMENSIONS: Final = 64


def is_sequence(value: Any) -> bool:
    """Return whether a value is read element by element: anything with a length and indices but mappings and strings."""
    kind = type(value)
    if kind is list or kind is tuple:
        return True
    if isinstance(value, (str, bytes, np.generic, Mapping, AbstractSet, Tensor)):
        return False
    # Looked for in the class itself: a dtype's metaclass has both, a dtype neither.
    return all(any(name in base.__dict__ for base in kind.__mro__) for name in ("__getitem__", "__len__"))


def read(data: Any, dtype: ScalarType | None) -> tuple[np.ndarray[Any, Any], ScalarType]:
    """Return Python data as an array, and the dtype that it is to be converted to: ``dtype``, or the one that torch infers.

    Raises ``ValueError`` for rows of different lengths and integers that are too large, ``TypeError`` for anything but
    numbers, ``RuntimeError`` where no dtype can be inferred or ``dtype`` cannot hold a number.
    """
    try:
        if isinstance(data, bytes):
            data = bytearray(data)  # numbers, as in every other buffer; within sequences they are texts
        elif isinstance(data, memoryview) and data.ndim != 1:
            data = data.tolist()
        array = _read_plain(data, dtype)
        if array is None:
            try:
                data = _take_foreign(data)
                return _walk(data, dtype)
            except RecursionError:  # lists without end, behind the first element
                raise ValueError(f"too many dimensions '{type(data).__name__}'") from None
            except (TypeError, ValueError, RuntimeError) as error:
                from .literal_faults import locate_fault  # only an error needs it

                where = locate_fault(data)
                if not where or type(error) not in (TypeError, ValueError, RuntimeError):
                    raise
                raise type(error)(f"{error}\nHint: {where}") from None
            except Exception as error:  # the conversion is the caller's, and may raise anything
                raise TypeError(
                    f"an element cannot be converted to a number ({type(error).__name__}: {error})"
                ) from error
        if dtype is not None:
            _check_range(array, dtype)
            return array, dtype
        default = get_default_dtype()
        return array, {"f": default, "c": default.to_complex()}.get(array.dtype.kind) or BY_NAME[str(array.dtype)]
    except Exception as error:
        trim_traceback(error)
        raise


def _take_foreign(data: Any, depth: int = 0) -> Any:
    """Return sequences with the arrays of other libraries among them as NumPy's."""
    if type(data) in (list, tuple):
        if depth > _MOST_DIMENSIONS:
            return data  # which is refused
        taken = [_take_foreign(item, depth + 1) for item in data]
        return data if all(map(operator.is_, taken, data)) else taken
    if not is_foreign(data):
        return data
    found = read_foreign(data)
    array = read_elements(found) if isinstance(found, Tensor) else found
    return array[()] if depth else array  # an array without dimensions represents its number


def _walk(data: Any, dtype: ScalarType | None) -> tuple[np.ndarray[Any, Any], ScalarType]:
    """Read the numbers one by one."""
    shape = _read_shape(data)
    wanted = _infer_dtype(data) if dtype is None else dtype
    kind = _classify(wanted)
    items: list[Any] = []
    if 0 not in shape:
        _collect(data, shape, 0, partial(_to_int, wanted) if kind == "i" else _CONVERSIONS[kind], items)
    widest = np.uint64 if wanted is ScalarType.UInt64 else _WIDEST[kind]
    return np.array(items, widest).reshape(shape), wanted


def _read_plain(data: Any, dtype: ScalarType | None) -> np.ndarray[Any, Any] | None:
    """Return Python's own numbers as NumPy reads them; None where there is something else among them."""
    first, depth = data, 0
    while type(first) not in _PLAIN:
        if not isinstance(first, (list, tuple)) or not first or depth == _MOST_DIMENSIONS:
            return None
        first = first[0]
        depth += 1
    try:
        array = np.array(data)
    except Exception:  # noqa: BLE001  # errors of an element's own conversion are handled below
        return None
    kind = array.dtype.kind
    if dtype is None and kind in "bi":
        return array
    # Numbers of NumPy's change the dtype that torch infers, or are refused; NumPy reads large integers as floats.
    kinds = {type(data)} if not depth else _types(data, depth)
    fits = kinds <= _PLAIN and (kind in "bic" or (kind == "f" and float in kinds))
    return array if fits and (dtype is None or not dtype.is_integral or kind in "bi") else None


def _types(data: Any, depth: int) -> set[type]:
    """Return the types of all numbers of nested sequences."""
    for _ in range(depth - 1):
        data = chain.from_iterable(data)
    return {*map(type, data)}


def _read_shape(data: Any) -> tuple[int, ...]:
    """Read the shape off the first elements."""
    sizes: list[int] = []
    while True:
        if isinstance(data, np.ndarray):
            if not data.ndim:
                raise TypeError("len() of unsized object")
            return (*sizes, *data.shape)
        if isinstance(data, (str, bytes)):
            if sizes and isinstance(data, str):
                raise ValueError("too many dimensions 'str'")
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
        if not is_sequence(data):
            return tuple(sizes)
        sizes.append(len(data))
        if len(sizes) > _MOST_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not sizes[-1]:
            return tuple(sizes)
        try:
            data = data[0]
        except (KeyError, TypeError):
            raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from None


def _infer_dtype(data: Any) -> ScalarType:
    """Return the dtype that torch infers: each number's own, promoted over all of them."""
    if isinstance(data, (np.ndarray, np.generic)):
        name = str(data.dtype.newbyteorder("="))  # of NumPy's own dtypes, and of those of ml_dtypes that tensors have
        if name not in BY_NAME:
            check_dtype(data)
        return BY_NAME[name]
    if isinstance(data, Tensor):
        return data.dtype
    for kind, dtype in ((bool, ScalarType.Bool), (int, ScalarType.Long), (float, None), (complex, None)):
        if isinstance(data, kind):
            default = get_default_dtype()
            return dtype or (default.to_complex() if kind is complex else default)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    found: ScalarType | None = None
    for item in data:
        if item is data:
            raise TypeError("new(): self-referential lists are incompatible")
        found = _infer_dtype(item) if found is None else promote_types(found, _infer_dtype(item))
        if found is ScalarType.ComplexDouble:
            break
    return found or get_default_dtype()


def _collect(data: Any, shape: tuple[int, ...], depth: int, convert: Callable[[Any], Any], items: list[Any]) -> None:
    """Collect the numbers, checking each row's length against the first one's."""
    if depth == len(shape):
        items.append(convert(data))
        return
    if isinstance(data, Tensor) and data.dim():
        data = list(data)  # each number is converted as a tensor, with torch's refusals
    if not is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    for row in data:
        _collect(row, shape, depth + 1, convert, items)


def _to_int(dtype: ScalarType, value: Any) -> int:
    limits = np.iinfo(to_numpy_dtype(dtype))
    if isinstance(value, float):
        if not limits.min <= value <= limits.max or value == 2.0**63:
            raise _make_overflow_error(dtype)
        return int(value)
    # A subclass of int may refuse, which `operator.index` does not ask.
    number = value.__index__() if isinstance(value, int) else operator.index(value)
    if not -(2**63) <= number < 2**63 and dtype is not ScalarType.UInt64:
        raise ValueError("Overflow when unpacking long long")
    # Negative numbers may wrap around in unsigned types, as in torch.
    if not (limits.min or -limits.max) <= number <= limits.max:
        raise _make_overflow_error(dtype)
    return number


def _to_float(value: Any) -> float:
    if isinstance(value, complex) and not isinstance(value, np.generic):
        raise _make_number_error(value)
    return float(_number(value))


def _to_complex(value: Any) -> complex:
    return complex(_number(value))


def _number(value: Any) -> Any:
    """Refuse texts and arrays with dimensions, which Python's functions would take for numbers."""
    is_text = isinstance(value, (str, bytes))  # NumPy's texts have numbers' methods
    is_array = isinstance(value, np.ndarray) and value.ndim
    if is_text or is_array or not any(hasattr(value, name) for name in ("__float__", "__index__", "__complex__")):
        raise _make_number_error(value)
    return value


def _make_number_error(value: Any) -> TypeError:
    return TypeError(f"must be real number, not {type(value).__name__}")


def _to_bool(value: Any) -> bool:
    return bool(value if isinstance(value, (float, complex, np.bool_)) else operator.index(value))


_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {"b": _to_bool, "f": _to_float, "c": _to_complex}
_WIDEST: Final = {"b": np.bool_, "i": np.int64, "f": np.float64, "c": np.complex128}


def _classify(dtype: ScalarType) -> str:
    if dtype.is_complex:
        return "c"
    if dtype.is_floating_point:
        return "f"
    return "b" if dtype is ScalarType.Bool else "i"


def _check_range(array: np.ndarray[Any, Any], dtype: ScalarType) -> None:
    """Refuse numbers that ``dtype`` cannot hold, as torch does."""
    kind = array.dtype.kind
    if kind == "c" and not dtype.is_complex and dtype is not ScalarType.Bool:
        raise TypeError("must be real number, not complex")
    if kind == "i" and dtype.is_integral and array.size:
        limits = np.iinfo(to_numpy_dtype(dtype))
        if not ((limits.min or -limits.max) <= array.min() and array.max() <= limits.max):
            raise _make_overflow_error(dtype)


def _make_overflow_error(dtype: ScalarType) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {dtype} without overflow")
