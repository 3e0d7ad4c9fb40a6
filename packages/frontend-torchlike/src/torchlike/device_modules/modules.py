"""The modules themselves: one for each device that has a backend, made when it is first asked for.

Note [Devices that are not there]
    The modules of the devices of `absent_names` are always there. While no backend of the name is installed, nor registered
    by the program, they have the answers of `absent_devices`; afterwards those of every device's module. A name is looked
    up at each access, so a backend that the program registers later is seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, cast

import dispatch_core as dc
from dispatch_core import runtime
from dispatch_core.tracebacks import api_boundary

from ..names.lazy_names import missing_name
from ..names.spelling import spell
from .absent_names import ABSENT, PLAIN
from .device_functions import DeviceFunctions

__all__ = ["find_module", "get_device_module", "make_getter"]

_FUNCTIONS: Final[dict[str, DeviceFunctions]] = {}
_MODULES: Final[dict[str, ModuleType]] = {}
#: The modules that programs for torch have given for a device.
_REGISTERED: Final[dict[str, Any]] = {}
#: Methods of `DeviceFunctions` that are no functions of the module.
_INNER: Final = frozenset(
    "current_index exchange interface is_opened name open path read_index require to_index".split()
)
_PUBLIC: Final = sorted(name for name in dir(DeviceFunctions) if name[0] != "_" and name not in _INNER)


def functions_of(name: str) -> DeviceFunctions:
    """Return the functions of a device."""
    found = _FUNCTIONS.get(name)
    return _FUNCTIONS.setdefault(name, DeviceFunctions(name)) if found is None else found


def make_getter(name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a device's module; see Note [Devices that are not there]."""

    def list_names() -> list[str]:
        if name in ABSENT and not runtime.provides(name):
            from .absent_devices import list_functions

            return sorted(list_functions(name))
        return [*_PUBLIC, *((functions_of(name).interface.functions or {}) if dc.frontends.is_loaded(name) else ())]

    @api_boundary
    def find(attribute: str) -> Any:
        if attribute[:1] != "_":
            if name in ABSENT and not runtime.provides(name):
                from .absent_devices import list_functions

                found = list_functions(name)
                if attribute in found:
                    return found[attribute]
            elif attribute in _PUBLIC:
                return getattr(functions_of(name), attribute)
            elif runtime.provides(name):
                own = functions_of(name).interface.functions
                if own is not None and attribute in own:
                    return own[attribute]
        if name in ABSENT:
            raise missing_name(f"torchlike.{name}", attribute)
        # The text of a missing name of torch's would import the module, which goes with the device.
        path = spell(f"torchlike.{name}")
        raise AttributeError(f"module {path!r} has no attribute {attribute!r}", name=attribute, obj=_MODULES.get(name))

    return find, list_names


def _make_module(name: str) -> ModuleType:
    module = ModuleType(
        spell(f"torchlike.{name}"), f"The device {name}: its streams, events and memory (source: ``torch.cuda``)."
    )
    module.__getattr__, module.__dir__ = make_getter(name)  # type: ignore[method-assign]  # hooks of this module
    module.__all__ = _PUBLIC  # type: ignore[attr-defined]  # as above
    return module


def find_module(name: str) -> ModuleType | None:
    """Return the module of a device with an interface, None for other names and for those that torchlike has itself.

    >>> import torchlike
    >>> find_module("npu") is torchlike.npu, find_module("linalg")
    (True, None)
    """
    if name in _REGISTERED:
        return cast("ModuleType", _REGISTERED[name])
    if name == "cpu":
        from .absent_devices import cpu  # its module, which ``import`` asks for

        return cpu
    if name not in ABSENT and (name in PLAIN or name[:1] == "_" or not runtime.has_interface(name) or is_taken(name)):
        return None
    found = _MODULES.get(name)
    return _MODULES.setdefault(name, _make_module(name)) if found is None else found


def is_taken(name: str) -> bool:
    """Return whether torchlike itself has a name, so that a device of that name gets no module."""
    import torchlike

    return name not in ABSENT and name in torchlike.__dir__()


def get_device_module(device: Any = None) -> Any:
    """Return the module of a device; for None that of the accelerator, or the cpu (source: ``torch.get_device_module``)."""
    import torchlike

    if device is None:
        found = dc.current_accelerator()
        kind = "cpu" if found is None else found.type
    elif isinstance(device, str | dc.Device):
        kind = dc.Device.parse(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    module = torchlike.cpu if kind == "cpu" else torchlike.cuda if kind == "cuda" else find_module(kind)
    if module is None:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as '{spell(f'torchlike.{kind}')}'."
        )
    return module


def _register_device_module(device_type: str, module: Any) -> None:
    """Use a module of the program's own as that of a device (source: ``torch._register_device_module``).

    Raises ``RuntimeError`` where one was registered before.
    """
    name = dc.Device(device_type).type
    if name in _REGISTERED:
        raise RuntimeError(f"The runtime module of '{name}' has already been registered with '{_REGISTERED[name]}'")
    _REGISTERED[name] = module
    import torchlike  # which may have the device's own module, where a program has imported that

    setattr(torchlike, name, module)
    sys.modules[spell(f"torchlike.{name}")] = module
