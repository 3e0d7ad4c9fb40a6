"""Questions to the backends that are loaded: can the device be opened, how many are there, how should a program run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from dispatch_core._record import replace
from dispatch_core.errors import BackendError, BackendUnavailableError, short_repr
from dispatch_core.tracebacks import note_memory_errors

from .state import explain_exception

if TYPE_CHECKING:
    from dispatch_core.arrays.types import Array, Availability, BackendInfo
    from dispatch_core.pipelines import PlannedStep, Program
    from dispatch_core.runtime import DeviceInterface

    from .host import PluginHost
    from .in_process import BackendHandle
    from .state import BackendState


_INTERFACE: Final = "dispatch_device_interface"


class DeviceHooks:
    """The hooks of the loaded backends, a plugin's or those that the program registered, each called for one device."""

    _host: PluginHost | None
    _loaded: dict[str, BackendInfo]

    def __init__(self) -> None:
        self._opened: set[tuple[str, int | None]] = set()
        #: The backends that the program registered.
        self._handles: dict[str, BackendHandle] = {}
        #: The interfaces of devices, once asked for.
        self._interfaces: dict[str, DeviceInterface] = {}

    def ensure_backend(self, name: str) -> BackendInfo:
        """Return a device's backend, loading it on the first request."""
        raise NotImplementedError

    def _exclusive(self, noun: str, name: str) -> AbstractContextManager[None]:
        raise NotImplementedError

    def _state(self, name: str) -> BackendState:
        raise NotImplementedError

    def is_loaded(self, name: str) -> bool:
        """Return whether a device's backend is loaded; nothing is loaded or searched for."""
        return name in self._loaded

    def availability(self, name: str) -> Availability:
        """Ask a device's plugin whether the device can be opened on this machine.

        Raises as ``ensure_backend`` does, and ``BackendUnavailableError`` if the plugin raises instead of answering.
        """
        from dispatch_core.arrays.types import Availability

        self.ensure_backend(name)
        answer = self._ask(name, "dispatch_is_available", default=True)
        return answer if isinstance(answer, Availability) else Availability(bool(answer))

    def installation_faults(self, name: str) -> list[str]:
        """Ask a device's plugin for the faults of the device's installation, none where it has no hook for them.

        Raises as ``ensure_backend`` does, and ``BackendUnavailableError`` if the plugin raises instead of answering.
        """
        self.ensure_backend(name)
        return [str(fault) for fault in self._ask(name, "dispatch_examine") or ()]

    def open_device(self, name: str, index: int | None = None) -> BackendInfo:
        """Open a device on its first use in the process, and return its backend.

        Raises as ``ensure_backend`` does, and ``BackendUnavailableError`` with the plugin's reason.
        """
        info = self.ensure_backend(name)
        if (name, index) not in self._opened:
            with self._exclusive("device", name):
                if (name, index) not in self._opened:
                    available = self.availability(name)
                    if not available:
                        reason = available.reason or "its plugin gives no reason"
                        raise self._unavailable(name, reason)
                    self._check_index(name, index)
                    self._ask(name, "dispatch_open_device", index=index)
                    # It says by which errors the device is out of memory; most have none, and nothing is imported for it.
                    if name not in self._interfaces and (given := self._call(name, _INTERFACE)) is not None:
                        self._keep_interface(name, given)
                    if any(each.device_index is not None for each in info.array_types):
                        from dispatch_core.arrays.indices import note_index

                        note_index(name, index)
                    self._opened.add((name, index))
        return info

    def open_again(self, name: str, index: int | None) -> None:
        """Open a device that was opened before, because its backend has closed it since."""
        self._ask(name, "dispatch_open_device", index=index)

    def is_opened(self, name: str) -> bool:
        """Return whether a device of a type was opened here, whatever its index."""
        return any(opened == name for opened, _ in self._opened)

    def device_count(self, name: str) -> int:
        """Return the number of a type's devices; 1 where its plugin does not say.

        Raises as ``ensure_backend`` does, and ``BackendUnavailableError`` where the plugin gives no int.
        """
        self.ensure_backend(name)
        count = self._ask(name, "dispatch_device_count")
        if not isinstance(count, int | None):
            raise self._unavailable(name, f"dispatch_device_count returned {count!r}, which is not an int")
        return 1 if count is None else count

    def _check_index(self, name: str, index: int | None) -> None:
        """Refuse an index out of range, where the plugin says how many devices there are."""
        count = None if index is None else self._ask(name, "dispatch_device_count")
        if count is None or index is None:
            return
        count = self.device_count(name)
        if index >= count:
            there = "there are none" if count < 1 else "there is one" if count == 1 else f"there are {count}"
            raise BackendUnavailableError(
                f"There is no device {f'{name}:{index}'!r}: of the devices of {self._state(name).source} {there}",
                hint=f"indices begin at 0: write {name!r} or {f'{name}:0'!r} for the first one",
            )

    def runtime(self, name: str) -> Any:
        """Return a device's own interface, which its plugin gives.

        Raises as ``ensure_backend`` does, and ``BackendError`` if the plugin has none.
        """
        self.ensure_backend(name)
        found = self._ask(name, "dispatch_runtime")
        if found is None:
            raise BackendError(
                f"the plugin for device {name!r} has no interface of its own",
                hint="a plugin gives one by the hook dispatch_runtime",
            )
        return found

    def brings_interface(self, name: str) -> bool:
        """Return whether a loaded plugin says what its device offers besides operators; it is not asked."""
        handle = self._handles.get(name)
        return _INTERFACE in handle.hooks if handle is not None else self._plugins().implements(name, _INTERFACE)

    def device_interface(self, name: str) -> DeviceInterface:
        """Return what a device offers besides operators; without parts where its plugin says nothing.

        Raises as ``ensure_backend`` does, and ``BackendError`` where the plugin returns something else.
        """
        found = self._interfaces.get(name)
        if found is None:
            from dispatch_core.runtime.interface import NONE

            self.ensure_backend(name)
            found = self._keep_interface(name, self._call(name, _INTERFACE, NONE))
        return found

    def opened_interfaces(self) -> list[DeviceInterface]:
        """Return the interfaces of the devices that were opened in this process."""
        return [found for name, found in list(self._interfaces.items()) if self.is_opened(name)]

    def _keep_interface(self, name: str, given: Any) -> DeviceInterface:
        from dispatch_core.arrays.indices import NotedExchange
        from dispatch_core.arrays.part_errors import name_parts
        from dispatch_core.runtime.interface import FUNCTIONS, GROUPS, NONE, DeviceInterface

        if not isinstance(given, DeviceInterface):
            raise BackendError(
                f"dispatch_device_interface of {self._state(name).source} returned {short_repr(given)}",
                hint="return dispatch_core.DeviceInterface(...)",
            )
        if given.exchange is not None and type(given.exchange) is not NotedExchange:
            given.exchange = NotedExchange(name, given.exchange)
        if given is not NONE:
            name_parts(given, name, FUNCTIONS, {part: (*needed, *more) for part, (needed, more) in GROUPS.items()})
        found = self._interfaces.setdefault(name, given)
        note_memory_errors(name, found.out_of_memory)
        return found

    def plan(self, name: str, program: Program) -> Iterable[PlannedStep] | None:
        """Ask a device's plugin how a recorded program should run; None where it has no opinion."""
        return self._call(name, "dispatch_plan", program=program) if name in self._loaded else None

    def synchronize(self, name: str, index: int | None = None) -> None:
        """Wait for one index of a device, or all that were opened, if it is loaded and its plugin can."""
        if name not in self._loaded:
            return
        wait = self.device_interface(name).synchronize
        if wait is not None:
            opened = {found or 0 for each, found in self._opened if each == name}
            for place in sorted(opened) if index is None else (index,):
                wait(place)
        self._call(name, "dispatch_synchronize")

    def _compute_late(self, info: BackendInfo) -> BackendInfo:
        """Return the description of a backend with the hook ``dispatch_compute``."""
        from dispatch_core.arrays.late_arrays import compute_late

        def compute(arrays: Sequence[Array]) -> Sequence[Array]:
            return self._call(info.name, "dispatch_compute", arrays=arrays)

        return replace(info, array_types=tuple(compute_late(info.name, each, compute) for each in info.array_types))

    def _ask(self, name: str, hook: str, default: object = None, **arguments: object) -> Any:
        """Call a hook of a loaded plugin; an error means that the device is not available."""
        try:
            return self._call(name, hook, default, **arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._unavailable(name, explain_exception(error)) from error

    def _unavailable(self, name: str, reason: str) -> BackendUnavailableError:
        return BackendUnavailableError(
            f"The device {name!r} of {self._state(name).source} cannot be opened on this machine: {reason}",
            hint="its kernels are registered all the same"
            + ("" if name in self._handles else f"; `python -m dispatch_core doctor` shows the faults of {name}"),
        )

    def _plugins(self) -> PluginHost:
        if self._host is None:
            from .host import PluginHost

            self._host = PluginHost()
        return self._host

    def _call(self, name: str, hook: str, default: object = None, **arguments: object) -> Any:
        """Call a hook of a loaded backend; one that it lacks gives the default."""
        if (handle := self._handles.get(name)) is None:
            return self._plugins().call(name, hook, default, **arguments)
        function = handle.hooks.get(hook)
        return default if function is None else function(*arguments.values())
