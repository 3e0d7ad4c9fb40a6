"""Shared parts of the core's tests."""

from __future__ import annotations

from core_fixtures import (  # noqa: F401
    install,
    library,
    make_backend,
    make_frontend,
    meta,
    numbers,
    registry,
    run_python,
    scale,
    tensors,
    toy,
    work,
)
