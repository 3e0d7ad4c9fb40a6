"""The plugin loader of the process, for modules below the plugins.

An array of an unknown type or a device at its first request is looked up among the installed plugins. The
package's ``__init__``, which stands above all, says how the loader is made; no plugin library is imported before that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .forks import Order, forkable

if TYPE_CHECKING:
    from .plugins.loading import BackendLoader

_make: Callable[[], BackendLoader]
_loader: BackendLoader | None = None
_making = forkable(Order.LOADING)


def provide(make: Callable[[], BackendLoader]) -> None:
    """Set the function that makes the loader at the first request."""
    global _make
    _make = make


def loader() -> BackendLoader:
    """Return the process's loader, made at the first call."""
    global _loader
    if _loader is None:
        with _making:
            if _loader is None:
                _loader = _make()
    return _loader
