"""Plugins: found by their entry points, loaded on first request, rolled back whole when they fail."""

from __future__ import annotations

from .loading import BackendLoader, backends, kernel_providers, load_backend, refresh
from .state import BackendState, ProviderState

__all__ = [
    "BackendLoader",
    "BackendState",
    "ProviderState",
    "backends",
    "kernel_providers",
    "load_backend",
    "refresh",
]
