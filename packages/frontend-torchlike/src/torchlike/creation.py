"""Functions that make tensors from sizes, numbers, nested lists and arrays.

The dispatcher's factories return a backend's raw array, because without a tensor among the arguments it cannot know whose
tensor is wanted; here they are wrapped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, as_dtype, get_default_dtype

from .devices import as_device
from .dtypes import numpy_dtype
from .interop import from_numpy, put
from .tensor import Tensor, wrap

__all__ = ["FACTORIES", "as_tensor", "finish", "tensor"]


def finish(made: Any, requires_grad: bool) -> Tensor:
    """Wrap what a factory returned; raises ``RuntimeError`` where gradients are asked for an integer tensor."""
    result = made if isinstance(made, Tensor) else wrap(made)
    if requires_grad:
        if not result.dtype.is_differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result.requires_grad_()
    return result


def tensor(
    data: Any,
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor from a number, nested sequences or an array, by copying (source: ``torch.tensor``).

    Raises ``ValueError`` for rows of different lengths, ``TypeError`` for what is no number.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> tensor(2.5, requires_grad=True)
    tensor(2.5000, requires_grad=True)
    """
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torchlike.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        copy = data.detach().to(device=device, dtype=dtype, copy=True)
        return finish(copy, requires_grad)
    array = data.copy() if isinstance(data, np.ndarray) else _array(data, dtype)
    return finish(_convert(array, dtype, device), requires_grad)


def _convert(array: np.ndarray[Any, Any], dtype: ScalarType | None, device: Any) -> Tensor:
    if dtype is None:
        return put(array, device)
    try:
        wanted = numpy_dtype(dtype)
    except TypeError:
        return put(array, device).to(dtype)  # a dtype that NumPy has not: the backend converts
    if array.dtype != wanted:
        with np.errstate(all="ignore"):
            array = array.astype(wanted)
    return put(array, device)


def _array(data: Any, dtype: ScalarType | None) -> np.ndarray[Any, Any]:
    """Give Python data as an array of the dtype that torch infers.

    Lists of plain numbers are NumPy's to read; what it refuses is walked through, so that the fault gets torch's words.
    """
    leaf = _first(data)
    plain = isinstance(leaf, (bool, int, float, complex)) and not isinstance(leaf, np.generic)
    try:
        array = np.array(data) if plain else None
    except Exception:  # noqa: BLE001  # what an element's own conversion raises is looked at below
        array = None
    if array is None or array.dtype.kind not in "biufc":
        items: list[Any] = []
        shape = _shape(data)
        _flatten(data, shape, 0, items)
        try:
            array = np.array(items, None if items else np.float64).reshape(shape)
        except (TypeError, ValueError):
            raise
        except Exception as error:  # the conversion is the caller's, and may raise anything
            raise TypeError(f"an element cannot be converted to a number ({type(error).__name__}: {error})") from error
        if array.dtype.kind == "O":
            raise ValueError("Overflow when unpacking long long")
        if isinstance(leaf, (np.generic, np.ndarray, Tensor)) and not isinstance(leaf, (float, complex)):
            return array
    if array.dtype.kind == "u":
        raise ValueError("Overflow when unpacking long long")
    if dtype is not None:
        _check_range(array, dtype)
        return array
    default = get_default_dtype()
    wanted = {"f": default, "c": default.to_complex()}.get(array.dtype.kind)
    return array if wanted is None else array.astype(numpy_dtype(wanted))


#: NumPy's limit.
_MOST_DIMENSIONS: Final = 64


def _first(data: Any) -> Any:
    """Give the first number of nested sequences."""
    for _ in range(_MOST_DIMENSIONS):
        if not isinstance(data, (list, tuple, range)) or not data:
            return data
        data = data[0]
    raise ValueError(f"too many dimensions: nested sequences have at most {_MOST_DIMENSIONS}")


def _check_range(array: np.ndarray[Any, Any], dtype: ScalarType) -> None:
    """Refuse numbers that ``dtype`` cannot hold, as torch does; negative ones may wrap around in unsigned types."""
    kind = array.dtype.kind
    if kind == "c" and not dtype.is_complex:
        raise TypeError("must be real number, not complex")
    if not dtype.is_integral or kind not in "if" or not array.size:
        return
    limits = np.iinfo(numpy_dtype(dtype))
    low = limits.min or -limits.max
    if not (low <= array.min() and array.max() <= limits.max):
        raise RuntimeError(f"value cannot be converted to type {dtype} without overflow")


def _shape(data: Any) -> tuple[int, ...]:
    """Read the shape off the first elements."""
    if isinstance(data, (Tensor, np.ndarray)):
        return tuple(data.shape)
    if isinstance(data, (list, tuple, range)):
        if data and isinstance(data[0], str):
            raise ValueError("too many dimensions 'str'")
        return (len(data), *(_shape(data[0]) if data else ()))
    _check_number(data)
    return ()


def _check_number(value: Any) -> None:
    if isinstance(value, str):
        raise TypeError("new(): invalid data type 'str'")
    if not (isinstance(value, (int, float, complex, np.generic)) or hasattr(value, "__float__")):
        raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def _flatten(data: Any, shape: tuple[int, ...], depth: int, items: list[Any]) -> None:
    """Collect the numbers, checking every row's length against the first one's."""
    if depth == len(shape):
        if isinstance(data, (Tensor, np.ndarray)):
            data = data.item()
        if isinstance(data, (list, tuple, range)):
            raise TypeError(f"'{type(data).__name__}' object cannot be interpreted as an integer")
        _check_number(data)
        items.append(data)
        return
    if isinstance(data, Tensor):
        data = data.tolist()
    if not isinstance(data, (list, tuple, range, np.ndarray)):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    for row in data:
        _flatten(row, shape, depth + 1, items)


def as_tensor(data: Any, dtype: ScalarType | None = None, device: Any = None) -> Tensor:
    """Make a tensor, sharing memory with an array or tensor where dtype and device allow (source: ``torch.as_tensor``)."""
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Tensor):
        converted: Tensor = data.to(device=device, dtype=dtype)
        return converted
    if not isinstance(data, np.ndarray):
        return _convert(_array(data, dtype), dtype, device)
    shared: Tensor = from_numpy(data)
    return shared if dtype is None and device is None else shared.to(device=device, dtype=dtype)


def _number(value: Any) -> Any:
    """Let a tensor of one element, or a NumPy number, stand for a number."""
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def _sizes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Read sizes that are written one by one, as one sequence, or by keyword."""
    if "size" in kwargs:
        return (kwargs.pop("size"),)
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return (tuple(args[0]),)
    return (tuple(_number(size) for size in args),)


def _factory(name: str, kind: str) -> Callable[..., Tensor]:
    packet: Any = None

    def make(
        *args: Any,
        dtype: ScalarType | None = None,
        device: Any = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
        generator: Any = None,
        layout: Any = None,
        pin_memory: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        nonlocal packet
        if packet is None:
            packet = getattr(dc.ops.aten, name)
        args = _sizes(args, kwargs) if kind == "sizes" else tuple(_number(value) for value in args)
        kwargs = {key: _number(value) for key, value in kwargs.items()}
        if generator is not None:
            kwargs["generator"] = generator
        if out is not None:
            result: Tensor = packet(*args, out=out, **kwargs)
            return result
        if dtype is not None:
            kwargs["dtype"] = dtype
        return finish(packet(*args, device=as_device(device), **kwargs), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Make a tensor (source: ``torch.{name}``); ``aten::{name}`` on ``device``, the cpu if left out."
    return make


#: Name → how its arguments are written: sizes one by one, or anything else as the schema says.
_KINDS: Final = {
    "arange": "",
    "empty": "sizes",
    "empty_strided": "",
    "eye": "",
    "full": "",
    "linspace": "",
    "ones": "sizes",
    "rand": "sizes",
    "randint": "",
    "randn": "sizes",
    "randperm": "",
    "scalar_tensor": "",
    "zeros": "sizes",
}
FACTORIES: Final = {name: _factory(name, kind) for name, kind in _KINDS.items()}


def _arange(start: Any = 0, end: Any = None, step: Any = 1, **kwargs: Any) -> Tensor:
    """Make the numbers from ``start`` on, ``step`` apart, up to but without ``end`` (source: ``torch.arange``)."""
    if end is None:
        start, end = 0, start
    return _plain_arange(start, end, step, **kwargs)


_plain_arange = FACTORIES["arange"]
_arange.__name__ = _arange.__qualname__ = "arange"
FACTORIES["arange"] = _arange
