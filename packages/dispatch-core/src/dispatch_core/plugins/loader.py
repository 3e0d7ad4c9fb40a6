"""The loader of the process's own registry, and its methods as functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..forks import Order, forkable
from .loading import BackendLoader
from .state import BackendState

if TYPE_CHECKING:
    from dispatch_core.arrays.types import Availability, BackendInfo
    from dispatch_core.keys.table import DispatchKey

    from ..distributions import Claim

__all__ = [
    "array_type_owner",
    "availability",
    "backends",
    "declared_device",
    "declared_owner",
    "device_of_key",
    "ensure_backend",
    "has_operators",
    "load_backend",
    "loader",
    "open_device",
    "operator_library",
    "owner_of_key",
    "refresh",
    "runtime",
]

_loader: BackendLoader | None = None
_making = forkable(Order.LOADING)


def loader() -> BackendLoader:
    """Return the process's loader, making it at the first call."""
    global _loader
    if _loader is None:
        from dispatch_core.operators.registries import registry

        with _making:
            if _loader is None:
                _loader = BackendLoader(registry)
    return _loader


def ensure_backend(name: str) -> BackendInfo:
    """Return a device's backend, loading it on the first request, as far as the environment variables allow.

    Raises ``BackendNotFoundError`` where nothing provides the device, and ``BackendError`` where its plugin was
    refused, kept out, or failed; what it raised is chained.
    """
    return loader().ensure_backend(name)


def load_backend(name: str) -> BackendInfo:
    """Return a device's backend, loading it whatever ``DISPATCH_AUTOLOAD`` says.

    Raises as ``ensure_backend`` does.
    """
    return loader().load_backend(name)


def backends() -> Mapping[str, BackendState]:
    """Return the state of every device that an installed distribution claims. Nothing is loaded."""
    return loader().backends()


def refresh() -> None:
    """Forget the scan, the failures, the refused types and the environment variables; what is loaded stays.

    Call it after installing a plugin or changing a variable in a running process.
    """
    from dispatch_core.operators import call_trace, resolution, result_watch
    from dispatch_core.operators.registries import forget_everywhere

    loader().refresh()
    # Factories ask again whether their device can be opened.
    resolution._opened.clear()
    # Runners were made with or without a trace and a watch; the next call of each operator makes them again.
    call_trace.TRACE.forget()
    result_watch.forget()
    forget_everywhere()


def array_type_owner(cls: type) -> str | None:
    """Return the device that claims a type of array, without importing anything, or None.

    Raises ``BackendError`` where several devices claim the type.
    """
    return loader().array_type_owner(cls)


def declared_device(cls: type) -> str | None:
    """Return the device that an installed distribution declares exactly this type for, or None.

    Raises ``BackendError`` where there are several.
    """
    return loader().declared_device(cls)


def declared_owner(cls: type, device: str) -> Claim | None:
    """Return the claim by which an installed distribution declares exactly this type for another device than ``device``."""
    return loader().declared_owner(cls, device)


def device_of_key(key: DispatchKey) -> str | None:
    """Return the installed device that a key which no backend has claimed yet is kept for or named after, or None."""
    return loader().device_of_key(key)


def owner_of_key(key: DispatchKey) -> Claim | None:
    """Return the claim of the installed device of this project's own that a key is kept for, if it is one's."""
    return loader().owner_of_key(key)


def operator_library(namespace: str) -> bool:
    """Load the operator library of a namespace, once. Return False if nothing installed provides one.

    Raises ``BackendError``, from what the library raised, if it fails.
    """
    return loader().operator_library(namespace)


def has_operators(namespace: str) -> bool:
    """Tell whether an installed operator library has defined the operators of a namespace. Nothing is loaded."""
    return loader().has_operators(namespace)


def availability(name: str) -> Availability:
    """Ask a device's plugin whether the device can be opened on this machine.

    Raises as ``ensure_backend`` does, and ``BackendUnavailableError`` if the plugin raises instead of answering.
    """
    return loader().availability(name)


def open_device(name: str, index: int | None = None) -> BackendInfo:
    """Open a device on its first use in the process, and return its backend.

    Raises as ``ensure_backend`` does, and ``BackendUnavailableError`` with the plugin's reason.
    """
    return loader().open_device(name, index)


def runtime(name: str) -> Any:
    """Return a device's own interface, which its plugin gives: its streams and its memory, for instance.

    Raises as ``ensure_backend`` does, and ``BackendError`` if the plugin has none.
    """
    return loader().runtime(name)
