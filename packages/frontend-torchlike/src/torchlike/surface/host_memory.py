"""Methods of tensors for pinned and shared memory, and for devices that are not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from dispatch_core.devices import read_alias

__all__ = ["METHODS"]


def _make_transfer(name: str) -> Callable[..., Any]:
    def method(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        from ..device_modules.absent_devices import refuse_work  # few programs come here

        if (other := read_alias(name)) == name:
            refuse_work(name.upper())
        return getattr(self, other)(device, non_blocking, memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Raise ``AssertionError``: there is no such device, unless the name is another's alias."
    return method


def _pin_memory(self: Any, device: Any = None) -> Any:
    """Return the tensor in memory that a device copies from by itself, the accelerator by default.

    Raises ``RuntimeError`` for a tensor that is not on the cpu, and where there is no accelerator, or it has no such memory.
    """
    from ..device_modules.pinned_memory import pin_memory  # few programs come here

    return pin_memory(self, device)


def _is_pinned(self: Any, device: Any = None) -> bool:
    """Return whether the tensor lies in memory that a device copies from by itself."""
    from ..device_modules.pinned_memory import is_pinned  # as above

    return is_pinned(self, device)


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
