"""Where a fault arises: the kernel, with file and line."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from types import CodeType
from typing import Any, Final

import dispatch_core as dc

from ..operators import ATEN

#: The kernels of ``prims`` that every device has.
_PRIMS: Final = ("prims::device_get", "prims::device_put")


def place_of_kernel(key: Any, name: str) -> str:
    """Return a device's own kernel for an operator, ``function (file:line)``; "" where it has none.

    >>> place_of_kernel(dc.device_key("cpu"), "aten::no_such")
    ''
    """
    code = _code(key, name)
    return "" if code is None else _show(code, code.co_firstlineno)


def place_of_error(key: Any, error: BaseException) -> str:
    """Return the line of the device's code in which an error was raised, and the operator whose kernel it is.

    The device's code lies in the folders of its kernels; "" for an error that passes none of it.
    """
    codes = {code: name for name in (*_PRIMS, *(f"aten::{op.name}" for op in ATEN)) if (code := _code(key, name))}
    folders = {Path(code.co_filename).parent for code in codes}
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    frames = [(code, line) for code, line in frames if Path(code.co_filename).parent in folders]
    if not frames:
        return ""
    kernel = next((codes[code] for code, _ in reversed(frames) if code in codes), "")
    return " ".join(filter(None, [kernel, "in" * bool(kernel), _show(*frames[-1])]))


def _code(key: Any, name: str) -> CodeType | None:
    try:
        registration = dc.registry.get(name).slot(key).registration
    except (dc.DispatchError, LookupError):
        return None
    if registration is None or registration.key is not key or registration.fn is None:
        return None
    function: Any = registration.fn
    found: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
    return found


def _show(code: CodeType, line: int) -> str:
    return f"{code.co_name} ({'/'.join(Path(code.co_filename).parts[-2:])}:{line})"
