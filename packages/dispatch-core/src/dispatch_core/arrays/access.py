"""Readers of arrays: shape, strides, dtype, storage and device, of raw arrays and frontend tensors alike.

Note [Readers belong to vendors]
    The functions that read an array's shape, strides or dtype are the vendor's, and may raise anything (a ``KeyError`` for a
    dtype that its table lacks), or return a value of no use (a dtype of the vendor's own library). Only documented errors
    leave a public call: both become a `BackendError` that names the device, the distribution and the type of array.
    Answers are looked at where results are compared with the shape rule.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from ..devices import Device
from ..discovery import loader
from ..errors import ArgumentError, BackendError, DispatchError
from ..keys.table import ARRAYS, keys_of
from .late_arrays import Sizes
from .owners import ARRAY_TYPES, KEY_DEVICES, KEY_TYPES, PLACES, TYPE_MASKS, device_key, mask_of
from .types import Array, ArrayType, Dtype

#: Bound: CPython calls a method of an imported name the slow way, since the name may be a module.
_find: Final = ARRAY_TYPES.get


def to_data(value: object) -> Array:
    """Return the backend's array of a frontend tensor; a raw array is returned as it is."""
    return getattr(value, "_dispatch_data", value)


def _reader(value: object) -> tuple[ArrayType, Array]:
    data = getattr(value, "_dispatch_data", value)
    known = _find(type(data))
    if known is None:
        mask_of(data)
        known = ARRAY_TYPES[type(data)]
    return known, data


def unread(reader: ArrayType, what: str, error: Exception) -> DispatchError:
    """Return the error for a reader that has raised ``error``; see Note [Readers belong to vendors]."""
    if isinstance(error, DispatchError):
        return error
    fault = _reader_fault(reader, what, f"raised {type(error).__name__}: {error}")
    fault.__cause__ = error
    return fault


def check_answers(array: Array, kind: Dtype) -> None:
    """Refuse answers of readers that are of no use; ``kind`` is a dtype of the operator library's.

    Raises ``BackendError``; see Note [Readers belong to vendors].
    """
    reader, sizes, found = ARRAY_TYPES[type(array)], sizes_of(array), dtype(array)
    if (fault := _sizes_fault(reader, sizes)) is not None:
        raise fault
    if reader.strides is not None and None not in sizes:
        steps = strides(array)
        if not isinstance(steps, tuple) or len(steps) != len(sizes):
            raise _reader_fault(
                reader, "strides", f"gave {steps!r}, which is not a tuple with an int for each dimension"
            )
    if found != kind and not isinstance(found, type(kind)):
        raise _reader_fault(
            reader,
            "dtype",
            f"gave {found!r}, of type {_qualified_name(type(found))}, which is no {_qualified_name(type(kind))}",
        )


def _sizes_fault(reader: ArrayType, sizes: object) -> BackendError | None:
    """Return the error for a shape of no use, or None."""
    if not isinstance(sizes, tuple) or not all(size is None or isinstance(size, int) for size in sizes):
        return _reader_fault(reader, "shape", f"gave {sizes!r}, which is not a tuple of Python's ints")
    if None in sizes and type(reader.shape) is not Sizes:
        return _reader_fault(
            reader,
            "shape",
            f"gave {sizes!r}, and the device has no hook dispatch_compute",
            "a size may be None where the hook dispatch_compute(arrays) computes arrays whose sizes are needed;"
            " otherwise answer with ints",
        )
    return None


def _qualified_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _reader_fault(reader: ArrayType, what: str, how: str, hint: str | None = None) -> BackendError:
    key = next(iter(keys_of(TYPE_MASKS.get(reader.type, 0) & ARRAYS)), None)
    name = None if key is None else KEY_DEVICES.get(key.backend)
    state = None if name is None else loader().backends().get(name)
    whose = "a backend" if name is None else f"device {name!r}"
    whose += "" if state is None else f" ({state.source})"
    return BackendError(
        f"{whose}: ArrayType.{what} {how}, for an array of type {_qualified_name(reader.type)}",
        hint=hint or f"ArrayType({what}=...) must answer for every array that the backend's kernels return",
    )


def shape(value: object) -> tuple[int, ...]:
    """Return the shape of a tensor or array, which is computed first where a size of it is not known.

    Raises ``ArgumentError`` for anything else, and ``BackendError``, as all readers do, where its `ArrayType` raises.
    """
    data = getattr(value, "_dispatch_data", value)
    reader = _find(type(data)) or _reader(data)[0]
    try:
        return reader.shape(data)
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
        fault = unread(reader, "shape", error)
    raise fault


def sizes_of(value: object) -> tuple[int | None, ...]:
    """Return the shape as far as it is known, with None in the other places. Nothing is computed."""
    reader, data = _reader(value)
    try:
        return reader.shape.ask(data) if type(reader.shape) is Sizes else reader.shape(data)
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
        fault = unread(reader, "shape", error)
    raise fault


def computes_late(mask: int) -> bool:
    """Return whether arrays under a mask's keys are computed late."""
    return any(type(each.shape) is Sizes for key in keys_of(mask & ARRAYS) for each in KEY_TYPES.get(key, ()))


def strides(value: object) -> tuple[int, ...]:
    """Return the strides of a tensor or array, in elements; row-major where the array type has none."""
    data = getattr(value, "_dispatch_data", value)
    reader = _find(type(data)) or _reader(data)[0]
    if reader.strides is not None:
        try:
            return reader.strides(data)
        except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
            fault = unread(reader, "strides", error)
        raise fault
    sizes = shape(data)
    try:
        return row_major_strides(sizes)
    except TypeError:
        wrong = _sizes_fault(reader, sizes)
        if wrong is None:
            raise
    raise wrong


def row_major_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an array of these sizes without gaps; a dimension of size 0 counts as 1, as in torch."""
    step, steps = 1, []
    for size in reversed(sizes):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


def storage_offset(value: object) -> int:
    """Return where a tensor's or array's first element lies in its storage, in elements."""
    data = getattr(value, "_dispatch_data", value)
    reader = _find(type(data)) or _reader(data)[0]
    try:
        return 0 if reader.storage_offset is None else reader.storage_offset(data)
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
        fault = unread(reader, "storage_offset", error)
    raise fault


def storage_of(value: object) -> Hashable:
    """Return the key of a tensor's or array's memory: equal for all arrays in one memory, and for no others."""
    # Arrays first, which are asked for most: to look in vain for an attribute costs more than the rest.
    reader, data = _find(type(value)), value
    if reader is None:
        reader, data = _reader(value)
    try:
        return id(data) if reader.storage is None else reader.storage(data)
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
        fault = unread(reader, "storage", error)
    raise fault


def copy_span(arrays: Sequence[Array], limit: int) -> list[Array] | None:
    """Return arrays like these, which share memory, in a copy of it, from the first element of any to the last.

    None where these are more than ``limit`` bytes, or the array type does not say how; see `ArrayType`.
    """
    reader = _find(type(arrays[0])) or _reader(arrays[0])[0]
    try:
        return None if reader.copy_span is None else reader.copy_span(arrays, limit)
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
        fault = unread(reader, "copy_span", error)
    raise fault


def dtype(value: object) -> Dtype:
    """Return the scalar type of a tensor or array, as its backend names it."""
    data = getattr(value, "_dispatch_data", value)
    reader = _find(type(data)) or _reader(data)[0]
    try:
        return reader.dtype(data)
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
        fault = unread(reader, "dtype", error)
    raise fault


def is_described(value: object) -> bool:
    """Return whether a tensor's or array's type tells shape and dtype; see `ArrayType`."""
    return _reader(value)[0].is_described


def show_look(value: object) -> str:
    """Return dtype and shape as far as it is known, as messages show them; the type's name where there are none."""
    return f"{dtype(value)}{list(sizes_of(value))}" if is_described(value) else type(to_data(value)).__qualname__


def is_mutable(value: object) -> bool:
    """Return whether kernels can write into a tensor's or array's data."""
    return _reader(value)[0].mutable


def has_strides(value: object) -> bool:
    """Return whether a tensor's or array's type tells strides; for a device, whether its types of arrays do.

    An array whose type does not is row-major. Where it cannot be written either, it is a view of nothing.
    """
    if isinstance(value, (str, Device)):
        types = KEY_TYPES.get(device_key(Device.parse(value).type), ())
        return not types or any(each.strides is not None for each in types)
    return _reader(value)[0].strides is not None


def device(value: object) -> Device:
    """Return the device that a tensor or array lies on."""
    data = getattr(value, "_dispatch_data", value)
    place = PLACES.get(type(data))
    if place is not None:
        return place
    reader, data = _reader(data)
    for key in keys_of(mask_of(data)):
        if key.owns_arrays:
            try:
                if reader.device_index is not None:
                    return Device(KEY_DEVICES[key.backend], reader.device_index(data))
                place = Device.parse(KEY_DEVICES[key.backend])
                # Subclasses that were looked up are forgotten with their last array.
                return PLACES.setdefault(reader.type, place) if reader.type is type(data) else place
            except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors]
                fault = unread(reader, "device_index", error)
            raise fault
    raise ArgumentError(f"{type(value).__qualname__} lies on no device")
