"""The plugin: what the npu backend is, and why it cannot be opened yet."""

from __future__ import annotations

import dispatch_core as dc

from .runtime import is_available, unavailable_reason

__all__ = ["dispatch_backend_info", "dispatch_is_available", "dispatch_register"]


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: device ``npu``, key NPU. It has no array type yet."""
    return dc.BackendInfo("npu", "NPU")


@dc.hookimpl
def dispatch_register(registry: dc.Registry) -> None:
    """Register nothing: there are no kernels yet."""


@dc.hookimpl
def dispatch_is_available() -> dc.Availability:
    """Say whether an NPU can be opened and, if not, what was looked for."""
    return dc.Availability(ok=True) if is_available() else dc.Availability(ok=False, reason=unavailable_reason())
