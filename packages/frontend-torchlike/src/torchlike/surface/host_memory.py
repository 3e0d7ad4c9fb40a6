"""Methods of tensors for memory and devices that are not there: questions are answered, work is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

__all__ = ["METHODS"]


def _make_transfer(name: str) -> Callable[..., NoReturn]:
    def method(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> NoReturn:
        from ..device_modules.absent_devices import refuse_work  # few programs come here

        refuse_work(name.upper())

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Raise ``AssertionError``: there is no such device."
    return method


def _pin_memory(self: Any, device: Any = None) -> NoReturn:
    """Raise ``RuntimeError``: there is no device that memory could be pinned for."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


def _is_pinned(self: Any, device: Any = None) -> bool:
    """Return False: memory is never pinned."""
    return False


def _is_shared(self: Any) -> bool:
    """Return False: memory is never shared between processes."""
    return False


def _share_memory(self: Any) -> NoReturn:
    """Raise ``NotImplementedError``: processes get copies of tensors."""
    raise NotImplementedError("share_memory_() is not implemented: processes get copies of tensors")


#: The methods by torch's names.
METHODS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _make_transfer(name) for name in ("cuda", "hpu", "ipu", "xpu")},
    "is_pinned": _is_pinned,
    "is_shared": _is_shared,
    "pin_memory": _pin_memory,
    "share_memory_": _share_memory,
}
