"""The hooks that a backend plugin implements, and the markers for them.

pluggy carries registration only; no kernel call ever passes through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dispatch_core.arrays.types import Availability, BackendInfo
    from dispatch_core.operators.registries import Registry
    from dispatch_core.pipelines import PlannedStep, Program
    from dispatch_core.runtime import DeviceInterface

PROJECT: Final = "dispatch_core"
#: The hooks that a plugin must implement; a module without these is not a backend.
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
    """Return whether the device can be opened on this machine and, if not, the reason."""


@hookspec
def dispatch_examine() -> Iterable[str]:  # type: ignore[empty-body]
    """Yield the faults of the device's installation, a sentence each and its remedy on a line of its own, for the doctor.

    It may load libraries and open the device: the doctor asks in a process of its own, with a time limit.
    """


@hookspec
def dispatch_open_device(index: int | None) -> None:
    """Open the device with this index (None: the default one), on its first use in the process."""


@hookspec
def dispatch_device_count() -> int:  # type: ignore[empty-body]
    """Return the number of devices of this type; an index that is not below it is refused before it is opened."""


@hookspec
def dispatch_runtime() -> object:
    """Return the device's own interface, its streams and its memory for instance, for programs that use this device alone.

    It is read without opening the device, and may be a module.
    """


@hookspec
def dispatch_device_interface() -> DeviceInterface:  # type: ignore[empty-body]
    """Return what the device offers besides operators: indices, streams, events, memory.

    It is asked once, and opens nothing.
    """


@hookspec
def dispatch_plan(program: Program) -> Iterable[PlannedStep] | None:
    """Plan the program that a pipeline has recorded for the device: which nodes run together; the others run one by one.

    It is called once for each structure, computes nothing and writes to no array.
    """


@hookspec
def dispatch_compute(arrays: Sequence[Any]) -> Sequence[Any]:  # type: ignore[empty-body]
    """Compute arrays now that the library behind the device would compute later, and return one for each.

    All that are wanted together come in one call: a pipeline's results at its end, an array that is read, one of which
    a size is not known. The sizes of the returned arrays are known. The computation need not have ended.
    """


@hookspec
def dispatch_synchronize() -> None:
    """Wait until everything is computed that the device has begun, for ``dispatch_core.synchronize``."""
