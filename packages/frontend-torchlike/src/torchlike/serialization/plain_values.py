"""Values besides tensors that any pickle may make, each by a function that checks its arguments."""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc

from ..values.size import Size
from .arrays import check_numbers
from .hashed_keys import check_key
from .layouts.nested import DimRange
from .opcodes import Global

#: Factories that a defaultdict may have.
_FACTORIES: Final[dict[str, Any]] = {
    f"builtins.{kind.__name__}": kind for kind in (bool, dict, float, int, list, set, str, tuple)
}
_NUMERIC: Final = re.compile(r"b1|[iu][1248]|f(2|4|8|12|16)|c(8|16|24|32)")


def _encode(text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding != "latin1":
        raise ValueError("bytes are encoded otherwise")
    return text.encode("latin1")


def _make_bytes() -> bytes:
    return b""


def _make_bytearray(content: Any = b"", encoding: Any = None) -> bytearray:
    if type(content) is str and encoding in ("latin1", "latin-1"):
        content = content.encode("latin1")
    if type(content) is not bytes:
        raise ValueError("a bytearray has no bytes")
    return bytearray(content)


def _make_complex(real: Any, imag: Any) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise ValueError("a complex number has no parts")
    return complex(real, imag)


def _check_values(values: Any) -> Any:
    if type(values) not in (list, tuple):
        raise ValueError("a set has no values")
    return map(check_key, values)


def _make_set(values: Any = ()) -> set[Any]:
    return set(_check_values(values))


def _make_frozenset(values: Any = ()) -> frozenset[Any]:
    return frozenset(_check_values(values))


def _make_counter(values: Any = None) -> Counter[Any]:
    if values is not None and type(values) is not dict:
        raise ValueError("a Counter has no counts")
    return Counter(values or {})


def _make_ordered_dict(values: Any = ()) -> OrderedDict[Any, Any]:
    if type(values) not in (list, tuple):
        raise ValueError("an OrderedDict has no items")
    return OrderedDict((check_key(key), value) for key, value in values)


def _make_defaultdict(factory: Any = None) -> defaultdict[Any, Any]:
    if factory is not None and not (isinstance(factory, Global) and factory.name in _FACTORIES):
        raise ValueError("a defaultdict has another factory")
    return defaultdict(None if factory is None else _FACTORIES[factory.name])


def _make_size(values: Any) -> Size:
    return Size(check_numbers(values, "size"))


def _make_device(kind: Any, index: Any = None) -> dc.Device:
    if type(kind) is not str or not (index is None or type(index) is int):
        raise ValueError("a device has no name")
    dc.Device.parse(kind)  # by itself, a device takes any text as its type
    return dc.Device(kind, index)


def _make_namespace() -> argparse.Namespace:
    return argparse.Namespace()


def _make_dtype(name: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    """Return a copy of NumPy's dtype, whose order of bytes a state may change."""
    if type(name) is not str or not _NUMERIC.fullmatch(name):
        raise ValueError("an array has a dtype that is not one of numbers")
    return np.dtype(name, False, True)


def _make_array(kind: Any, shape: Any, code: Any) -> np.ndarray[Any, Any]:
    """Return an array without elements, which its state gives it."""
    if not isinstance(kind, Global) or kind.name != "numpy.ndarray":
        raise ValueError("an array is of a class of its own")
    return np.empty(0)


def _make_scalar(dtype: Any, content: Any) -> Any:
    if not isinstance(dtype, np.dtype) or type(content) is not bytes or len(content) != dtype.itemsize:
        raise ValueError("a number of NumPy's has no bytes")
    return np.frombuffer(content, dtype)[0]


def _set_array(array: Any, state: Any) -> None:
    """Give an array its elements; see NumPy's ``ndarray.__setstate__``, whose arguments are checked here."""
    if array.size or type(state) is not tuple or len(state) != 5:
        raise ValueError("an array has no elements")
    version, shape, dtype, is_fortran, content = state
    if version != 1 or not isinstance(dtype, np.dtype) or dtype.hasobject or type(content) is not bytes:
        raise ValueError("an array has no elements")
    shape = check_numbers(shape, "the shape")
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError("an array has another size")
    array.__setstate__((1, shape, dtype, is_fortran is True, content))


def _set_dtype(dtype: Any, state: Any) -> None:
    """Give NumPy's dtype its order of bytes."""
    if type(state) is not tuple or len(state) != 8 or state[0] != 3 or state[2:] != (None, None, None, -1, -1, 0):
        raise ValueError("an array has a dtype that is not one of numbers")
    if type(state[1]) is not str or state[1] not in ("<", ">", "|", "="):
        raise ValueError("an array has another order of bytes")
    dtype.__setstate__(state)


def _set_namespace(value: Any, state: Any) -> None:
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise ValueError("a Namespace's attributes have no names")
    vars(value).update(state)


def _set_metadata(value: Any, state: Any) -> None:
    if type(state) is not dict or set(state) != {"_metadata"}:
        raise ValueError("attributes are set on what is no state_dict")
    value._metadata = state["_metadata"]


_MULTIARRAY: Final = ("numpy.core.multiarray", "numpy._core.multiarray")
#: Names in pickles → our functions, None for names that are not called.
PLAIN_VALUES: Final[dict[str, Callable[..., Any] | None]] = {
    **dict.fromkeys(_FACTORIES),
    "_codecs.encode": _encode,
    "argparse.Namespace": _make_namespace,
    "builtins.bytearray": _make_bytearray,
    "builtins.bytes": _make_bytes,
    "builtins.complex": _make_complex,
    "builtins.frozenset": _make_frozenset,
    "builtins.set": _make_set,
    "collections.Counter": _make_counter,
    "collections.OrderedDict": _make_ordered_dict,
    "collections.defaultdict": _make_defaultdict,
    "numpy.dtype": _make_dtype,
    "numpy.ndarray": None,
    **{f"{module}._reconstruct": _make_array for module in _MULTIARRAY},
    **{f"{module}.scalar": _make_scalar for module in _MULTIARRAY},
    "torch.Size": _make_size,
    "torch.device": _make_device,
}


def set_state(value: Any, state: Any) -> None:
    """Give a value the state that a pickle has for it; ``ValueError`` for values that have none."""
    if type(value) is np.ndarray:
        _set_array(value, state)
    elif isinstance(value, np.dtype):
        _set_dtype(value, state)
    elif type(value) is argparse.Namespace:
        _set_namespace(value, state)
    elif type(value) is OrderedDict:
        _set_metadata(value, state)
    elif type(value) is not DimRange:
        raise ValueError("attributes are set on what is no state_dict")
