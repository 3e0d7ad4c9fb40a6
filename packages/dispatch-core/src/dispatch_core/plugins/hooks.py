"""The hooks that a backend plugin implements, and the markers for them.

pluggy carries registration only; no kernel call ever passes through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch_core.arrays.types import Availability, BackendInfo
    from dispatch_core.operators.registries import Registry
    from dispatch_core.pipelines.program import PlannedStep, Program

__all__ = ["PROJECT", "REQUIRED", "hookimpl", "hookspec"]

PROJECT: Final = "dispatch_core"
#: What a plugin must implement; a module without these is no backend.
REQUIRED: Final = ("dispatch_backend_info", "dispatch_register")

hookspec: Final = pluggy.HookspecMarker(PROJECT)
#: Marks a function of a plugin as the implementation of the hook of that name.
hookimpl: Final = pluggy.HookimplMarker(PROJECT)


@hookspec
def dispatch_backend_info() -> BackendInfo:  # type: ignore[empty-body]
    """Describe the backend: its device name, dispatch key and array types. Nothing is opened."""


@hookspec
def dispatch_register(registry: Registry) -> None:
    """Register the backend's kernels. It must work on a machine without the device."""


@hookspec
def dispatch_is_available() -> bool | Availability:  # type: ignore[empty-body]
    """Say whether the device can be opened on this machine and, if not, why."""


@hookspec
def dispatch_open_device(index: int | None) -> None:
    """Open the device with this index (None: the default one), on its first use in the process."""


@hookspec
def dispatch_device_count() -> int:  # type: ignore[empty-body]
    """Say how many devices of this type there are: an index that is not below it is refused before it is opened."""


@hookspec
def dispatch_runtime() -> object:
    """Give the device's own interface, its streams and its memory for instance, for who works with this device alone.

    It is asked for without the device being opened, and may be a module.
    """


@hookspec
def dispatch_plan(program: Program) -> Iterable[PlannedStep] | None:
    """Plan what a pipeline has recorded for the device: which nodes run together, and how; the others run one by one.

    It is asked once for each structure. Nothing is computed, and nothing is written to.
    """
