"""Plugins: found by their entry points, loaded on first request, rolled back whole when they fail."""

from __future__ import annotations

from .loader import (
    array_type_owner,
    availability,
    backends,
    ensure_backend,
    load_backend,
    open_device,
    operator_library,
    refresh,
    runtime,
)
from .state import BackendState

__all__ = [
    "BackendState",
    "array_type_owner",
    "availability",
    "backends",
    "ensure_backend",
    "load_backend",
    "open_device",
    "operator_library",
    "refresh",
    "runtime",
]
