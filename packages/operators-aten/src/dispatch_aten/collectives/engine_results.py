"""What engines return, against what was asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc

from ..dtypes import ScalarType

__all__ = ["check_list", "check_made", "check_written"]


def check_written(name: str, device: dc.Device, engine: object, found: object, into: object) -> None:
    """Raise ``KernelResultError`` unless an engine has returned the array that it was given to write to."""
    if found is not into:
        another = "another array, " if _is_array(found) else ""
        raise _error(
            name, device, engine, f"{another}{_describe(found)}", f"the array that it writes to, {_describe(into)}"
        )


def check_made(
    name: str, device: dc.Device, engine: object, found: object, dtype: ScalarType, shape: Sequence[int]
) -> None:
    """Raise ``KernelResultError`` unless an engine has returned an array of the device, of a dtype and a shape."""
    if not _is_array(found) or (dc.device(found), dc.dtype(found), list(dc.shape(found))) != (
        device,
        dtype,
        list(shape),
    ):
        raise _error(name, device, engine, _describe(found), f"an array {_text(dtype, shape, device)}")


def check_list(name: str, device: dc.Device, engine: object, found: object, count: int) -> Sequence[Any]:
    """Return what an engine has returned; raises ``KernelResultError`` for anything but a list of so many arrays."""
    if not isinstance(found, list | tuple):
        raise _error(name, device, engine, _describe(found), f"a list of {count} arrays")
    if len(found) != count:
        raise _error(
            name, device, engine, f"a list of {len(found)}", f"a list of {count} arrays, one for each received"
        )
    return found


def _error(name: str, device: dc.Device, engine: object, found: str, expected: str) -> dc.KernelResultError:
    kind = type(engine)
    return dc.KernelResultError(
        f"dispatch::{name}: the collectives of {device} returned {found} instead of {expected}",
        hint=f"it is the result of {name} of {kind.__module__}.{kind.__qualname__}; into is None where arrays cannot be"
        " written to, and else the array to write to and to return",
    )


def _is_array(value: object) -> bool:
    try:
        dc.device(value), dc.dtype(value), dc.shape(value)
    except dc.DispatchError:
        return False
    return True


def _describe(value: object) -> str:
    if not _is_array(value):
        return "None" if value is None else f"an object of type {type(value).__name__}"
    return _text(dc.dtype(value), dc.shape(value), dc.device(value))


def _text(dtype: Any, shape: Sequence[Any], device: dc.Device) -> str:
    return f"{dtype.short}{list(shape)} on {device}"
