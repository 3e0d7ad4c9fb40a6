"""Placing samples on a device, and reading results back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ..dtypes import BY_NAME, ScalarType
from .changes import map_arrays
from .drawing import Array
from .samples import Sample, names_written


def put(array: Array, device: str) -> Any:
    """Return an array of the device with NumPy's values, row by row."""
    # NumPy's copy of an array without elements has no steps from row to row.
    values = np.array(array, order="C") if array.size else np.empty(array.shape, array.dtype)
    return ops.prims.device_put(values, device=dc.Device(device))


def get(array: Any) -> Array:
    """Return an array's values as NumPy's."""
    return np.asarray(ops.prims.device_get(array))


class GuardedArray:
    """A larger array around one that is written to: elements before and after it, which stay as they are."""

    def __init__(self, array: Array, device: str, *, order: str = "C") -> None:
        values = np.array(array, order="F" if order == "F" else "C")
        self._size, self._mark = array.size, np.asarray(_MARK).astype(array.dtype)[()]
        self._mark = array.dtype.type(True) if array.dtype.kind == "b" else self._mark
        whole = np.full(_BEFORE + array.size + _AFTER, self._mark, array.dtype)
        whole[_BEFORE : _BEFORE + array.size] = values.reshape(-1, order="F" if order == "F" else "C")
        self._base = put(whole, device)
        steps = [step // array.itemsize for step in values.strides] if array.size else _row_major(array.shape)
        #: The array within.
        self.inner = ops.aten.as_strided(self._base, list(array.shape), steps, _BEFORE)

    def find_damage(self) -> str:
        """Return where elements around the array have changed, in words; "" where none has."""
        found = get(self._base)
        outside = np.ones(found.size, bool)
        outside[_BEFORE : _BEFORE + self._size] = False
        changed = np.flatnonzero(outside & ~(found == self._mark))
        if not changed.size:
            return ""
        first = int(changed[0]) - _BEFORE
        where = f"{-first} before its first" if first < 0 else f"{first - self._size + 1} after its last"
        return f"{changed.size} elements around it are written to, the first {where} element"


#: How many elements lie before and after a guarded array, and their value.
_BEFORE: Final = 65
_AFTER: Final = 300
_MARK: Final = 77


def _row_major(shape: tuple[int, ...]) -> list[int]:
    return [int(np.prod([max(size, 1) for size in shape[dim + 1 :]])) for dim in range(len(shape))]


def place(array: Array, device: str, layout: str = "") -> Any:
    """Return an array of the device with NumPy's values, laid out by operators of the device.

    >>> dc.strides(place(np.ones((2, 3)), "cpu", "transposed"))
    (1, 2)
    >>> dc.strides(place(np.ones((2, 3)), "cpu", "step"))
    (7, 2)
    """
    if layout == "transposed" and array.ndim > 1:
        order = [*range(array.ndim)][::-1]
        return ops.aten.permute(put(array.transpose(order), device), order)
    if layout == "with gaps" and array.ndim:
        return ops.aten.select(put(np.stack([array, array], -1), device), -1, 0)
    if layout == "offset" and array.ndim and array.size:
        return ops.aten.slice(put(np.concatenate([array[-1:], array]), device), 0, 1, len(array) + 1)
    if layout == "step" and array.ndim and array.size:
        wide = np.empty((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        # Each element stands at an odd place; its neighbours are others.
        wide[..., 1::2], wide[..., 0], wide[..., 2::2] = array, array[..., -1], array[..., ::-1]
        return ops.aten.slice(put(wide, device), -1, 1, wide.shape[-1], 2)
    if layout in ("expanded", "expanded output") and array.ndim and array.size:
        return ops.aten.expand(put(array[:1], device), list(array.shape))
    return put(array, device)


def _make_transposed(result: Array, device: str, guards: list[GuardedArray]) -> Any:
    guards.append(GuardedArray(np.zeros_like(result), device, order="F"))
    return guards[-1].inner


def _make_guarded(result: Array, device: str, guards: list[GuardedArray]) -> Any:
    guards.append(GuardedArray(np.zeros_like(result), device))
    return guards[-1].inner


def _make_like(change: Callable[[Array], Array]) -> Callable[[Array, str, list[GuardedArray]], Any]:
    return lambda result, device, guards: put(change(np.zeros(result.shape, result.dtype)), device)


def _other_float(result: Array) -> Array:
    others = {"float64": "float32", "float32": "float64", "complex128": "complex64", "complex64": "complex128"}
    return result.astype(others.get(result.dtype.name, "float32"))


#: How the arrays lie that an ``out=`` operator writes to, or by what they do not fit → a function of the cpu's result,
#: the device and the guards, which are added to.
OUTS: Final[dict[str, Callable[[Array, str, list[GuardedArray]], Any]]] = {
    "": _make_like(lambda result: result),
    "transposed": _make_transposed,
    "guarded": _make_guarded,
    "none": _make_like(lambda result: result.reshape(-1)[:0]),
    "small": _make_like(lambda result: result[:1] if result.ndim else result.reshape(1)),
    "another dtype": _make_like(_other_float),
    "integers": _make_like(lambda result: result.astype("int64")),
    "offset": lambda result, device, guards: place(np.zeros(result.shape, result.dtype), device, "offset"),
}
#: Outputs that the returned array takes the place of, as they are of another size.
SHAPED: Final = frozenset({"none", "small"})
#: Outputs within larger arrays.
GUARDED: Final = frozenset({"transposed", "guarded"})


def arguments_on(device: str, sample: Sample, guards: list[GuardedArray] | None = None) -> dict[str, Any]:
    """Return a sample's arguments with arrays of the device; an operator without tensors is told the device.

    With ``guards``, which are added to, written arrays of a guarded sample lie within larger ones.
    """
    written = names_written(sample.name)
    number = 0

    def put_one(array: Array, name: str) -> Any:
        nonlocal number
        number += 1
        if sample.layout == "guarded" and name in written:
            if guards is None:
                return put(array, device)
            guards.append(GuardedArray(array, device))
            return guards[-1].inner
        if sample.layout == "expanded output":
            return place(array, device, "expanded" if name in written else "")
        return place(array, device, _MIXED[number % len(_MIXED)] if sample.layout == "mixed" else sample.layout)

    found = {key: map_arrays(value, partial(put_one, name=key)) for key, value in sample.arguments.items()}
    found = {key: dc.Device(device) if isinstance(value, dc.Device) else value for key, value in found.items()}
    if any(each.name == "device" for each in sample.schema.arguments) and "device" not in found:
        found["device"] = dc.Device(device)
    return dict(found)


#: The layouts of the arrays of a mixed sample, by turns.
_MIXED: Final = ("", "transposed", "step")


def call(sample: Sample, arguments: dict[str, Any]) -> Any:
    """Call the sample's operator with arguments by name."""
    return dc.registry.get(f"aten::{sample.name}").op(**arguments)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the results of an operator that returns lists or several."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def dtypes_of(device: str) -> frozenset[str]:
    """Return the names of NumPy's dtypes that come back from a device as they went there."""
    found = set()
    for name in BY_NAME:
        try:
            values = np.ones(2, name)
            array = put(values, device)
            if dc.dtype(array) == BY_NAME[name] and get(array).dtype == values.dtype:
                found.add(name)
        except Exception:  # noqa: BLE001, S112  # a device refuses a dtype in its own way
            continue
    return frozenset(found)


def is_in_numpy(dtype: str) -> bool:
    """Return whether NumPy has arrays of a dtype; for some it needs another library.

    >>> is_in_numpy("float32")
    True
    """
    try:
        np.ones(1, dtype)
    except TypeError:
        return False
    return True


def dtype_name(array: Any) -> str:
    """Return NumPy's name of the dtype of an array on any device."""
    kind = dc.dtype(array)
    return str(kind) if isinstance(kind, ScalarType) else repr(kind)
