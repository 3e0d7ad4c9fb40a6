"""Plugins: found by their entry points, loaded on first request, rolled back whole when they fail."""

from __future__ import annotations

from .loading import BackendLoader, backends, load_backend, refresh
from .state import BackendState

__all__ = ["BackendLoader", "BackendState", "backends", "load_backend", "refresh"]
