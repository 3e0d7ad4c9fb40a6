"""Caches of templates, and pools of prepared calls and plans, all of which end with the runtime."""

from __future__ import annotations

import weakref
from typing import Any, Final

from ..runtime.session import Stage, at_finalize, at_timeout
from .descriptors import destroy_all, destroy_released, quarantine

#: Every cache of templates.
_caches: Final[list[dict[Any, Any]]] = []


def clear_at_close(cache: dict[Any, Any]) -> dict[Any, Any]:
    """Register a cache of templates that `clear` empties, and return it."""
    _caches.append(cache)
    return cache


class Pool(list[Any]):
    """Prepared calls or states that wait for their next use; `clear` empties every pool."""

    __slots__ = ("__weakref__",)

    # Compared by identity.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]  # lists have none

    def __init__(self) -> None:
        _pools.add(self)


_pools: Final[weakref.WeakSet[Pool]] = weakref.WeakSet()


def clear() -> None:
    """Drop every prepared call and plan, and destroy their descriptors and executors."""
    for cache in _caches:
        cache.clear()
    for pool in list(_pools):
        pool.clear()
    destroy_released()


def _close(device: int) -> None:
    """Destroy every descriptor and executor before the runtime is closed."""
    global _generation
    _generation += 1
    clear()
    destroy_all()


_generation = 0
at_finalize(Stage.PLANS, _close)
at_timeout(lambda session, device: quarantine())


def generation() -> int:
    """Return how many times the runtime has been closed; calls that were prepared before are of no use."""
    return _generation
