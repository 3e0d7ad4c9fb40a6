"""Errors of the functions of a device's interface, which get a note that names the device and the part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

#: What a note begins with: the innermost of several parts that call each other is named alone.
_BEGIN: Final = "Raised by "
#: The parts whose first argument is an index, beside all those of the group ``memory``.
_OF_INDICES: Final = frozenset(
    "properties synchronize timed_event generator reset exchange streams.default streams.create streams.current"
    " streams.exchange events.create".split()
)
#: The parts that raise as they are: the thread's device is asked for in calls, ``NotedExchange`` names the one that changes
#: it, and the backend calls its own queue.
_PLAIN: Final = frozenset("current exchange queue".split())


def note_part(error: Exception, device: object, part: str) -> None:
    """Add to an error of a backend's function which device's it was, and which part of its interface.

    >>> error = OSError("the driver is gone")
    >>> note_part(error, "toy:1", "streams.create"), note_part(error, "toy", "synchronize")
    (None, None)
    >>> error.__notes__
    ["Raised by streams.create in the DeviceInterface of device 'toy:1'"]
    """
    if not any(note.startswith(_BEGIN) for note in getattr(error, "__notes__", ())):
        error.add_note(f"{_BEGIN}{part} in the DeviceInterface of device {str(device)!r}")


class NamedPart:
    """A function of an interface, or one of a group, whose errors name it. It is looked up when it is called."""

    __slots__ = ("_device", "_name", "_owner", "_part")

    def __init__(self, device: str, part: str, owner: object, name: str) -> None:
        self._device, self._part, self._owner, self._name = device, part, owner, name

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the backend's function."""
        try:
            return getattr(self._owner, self._name)(*args, **kwargs)
        except Exception as error:
            has_index = self._part in _OF_INDICES or self._part.startswith("memory.")
            note_part(error, f"{self._device}:{args[0]}" if has_index and args else self._device, self._part)
            raise


class NamedGroup:
    """The functions of a part that is an object, such as ``streams``; whatever else the object has."""

    def __init__(self, device: str, part: str, group: object, names: Sequence[str]) -> None:
        self._group = group
        for name in names:
            if hasattr(group, name):
                setattr(self, name, NamedPart(device, f"{part}.{name}", group, name))

    def __getattr__(self, name: str) -> object:
        return getattr(self._group, name)


def name_parts(interface: object, device: str, functions: Sequence[str], groups: Mapping[str, Sequence[str]]) -> None:
    """Make the functions of an interface name themselves in their errors, once."""
    for part in functions:
        given: object = getattr(interface, part)
        if given is not None and part not in _PLAIN and not isinstance(given, NamedPart):
            setattr(interface, part, NamedPart(device, part, given, "__call__"))
    for part, names in groups.items():
        group = getattr(interface, part)
        if group is not None and not isinstance(group, NamedGroup):
            setattr(interface, part, NamedGroup(device, part, group, names))
