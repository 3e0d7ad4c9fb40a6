"""Devices by name and index, as ``cpu`` or ``npu:1``."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, Self

from ._record import Record
from .errors import ArgumentError, short_repr
from .interrupts import by_subscript, whole

__all__ = ["Device", "alias_device", "default_device", "read_alias", "set_default_device"]

#: Compiled at its first match, so that importing the core does not pay for it.
_SPELLING = r"(?P<type>[A-Za-z_][A-Za-z0-9_]*)(?::(?P<index>0|[1-9][0-9]*))?"


class Device(Record):
    """A device type and, where there are several of one type, its index (source: ``torch.device``).

    An index alone is one of the accelerator's. Raises ``ArgumentError`` for an index that is not an int, or negative, and
    ``BackendError`` for an index alone where there is no accelerator, or several. Whether the device exists is seen when it
    is used.
    Entered by ``with``, or as a decorator, it is the ``default_device`` of its thread or task.

    >>> Device("npu:1") == Device("npu", 1) == Device.parse("npu:1")
    True
    >>> str(Device("cpu"))
    'cpu'
    """

    type: str
    index: int | None = None

    def __post_init__(self) -> None:
        """Read a spelling with an index, as torch does; refuse anything that is neither a name nor an index."""
        if self.index is not None and (type(self.index) is not int or self.index < 0):
            object.__setattr__(self, "index", _index(self.index))
        given: object = self.type
        if type(given) is int and self.index is None:
            object.__setattr__(self, "type", _accelerator(given))
            object.__setattr__(self, "index", _index(given))
            return
        if isinstance(given, Device) and self.index is None:
            object.__setattr__(self, "type", given.type)
            object.__setattr__(self, "index", given.index)
            return
        if type(self.type) is not str or not self.type:
            raise ArgumentError(
                f"a device's type is a name, not {short_repr(self.type)}",
                hint="write 'type' or 'type:index', for example 'cpu' or 'npu:1'",
            )
        if ":" not in self.type:
            if _aliases:
                object.__setattr__(self, "type", read_alias(self.type))
            return
        if self.index is not None:
            raise ArgumentError(
                f"type (string) must not include an index because index was passed explicitly: {self.type}"
            )
        found = _parse(self.type)
        object.__setattr__(self, "type", found.type)
        object.__setattr__(self, "index", found.index)

    @classmethod
    def parse(cls, spelling: str | Device) -> Device:
        """Read ``"type"`` or ``"type:index"``.

        Raises ``ArgumentError`` for anything else.

        >>> Device.parse("meta").type
        'meta'
        """
        return spelling if isinstance(spelling, Device) else _parse(spelling)

    def __enter__(self) -> Self:
        # By subscript: see Note [Where an interrupt falls] in `interrupts`.
        outer = _devices.get()
        try:
            _ = _set[(*outer, self)]
            return self
        except BaseException:
            _ = _set[outer]
            raise

    @whole
    def __exit__(self, *error: object) -> None:
        try:
            _ = _set[_devices.get()[:-1]]
        except BaseException:
            # The interrupt came first.
            _ = _set[_devices.get()[:-1]]
            raise

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function, so that it runs with this device entered."""

        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            with self:
                return function(*args, **kwargs)

        return call

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"


#: The device that a thread or task has set, or None, and those that it has entered, the innermost last.
_devices: Final[ContextVar[tuple[Device | None, ...]]] = ContextVar("dispatch_core.default_devices", default=(None,))
_set: Final = by_subscript(_devices.set)


#: The name of a device that programs write → the one that it is.
_aliases: Final[dict[str, str]] = {}


def alias_device(name: str, device: str | None) -> None:
    """Read one device's name as another's from now on, in every thread; None takes that back.

    A program that was written for one device runs on another so: ``Device(name)`` is the other device, with the same index.
    Devices that were made before stay what they are. Raises ``ArgumentError`` for a name that is an alias's device.

    >>> alias_device("abacus", "cpu")
    >>> str(Device("abacus:1"))
    'cpu:1'
    >>> alias_device("abacus", None)
    """
    if device is None:
        _aliases.pop(name, None)
    else:
        if name == device or name in _aliases.values() or device in _aliases:
            raise ArgumentError(
                f"the device {name!r} cannot be read as {device!r}: aliases lead from names of no device to a device",
                hint="name the device itself, and an alias that differs from it",
            )
        _aliases[name] = device
    _parse.cache_clear()


def read_alias(name: str) -> str:
    """Return the device that a name is an alias of, the name itself where it is none.

    >>> read_alias("cpu")
    'cpu'
    """
    return _aliases.get(name, name)


_accelerator: Callable[[int], str]


def provide_accelerator(find: Callable[[int], str]) -> None:
    """Set the function that returns the type of the accelerator, for a device that is given by its index."""
    global _accelerator
    _accelerator = find


def default_device() -> Device | None:
    """Return the device of factories without one, or None where this thread or task has chosen none.

    >>> with Device("meta"):
    ...     default_device()
    device(type='meta')
    """
    return _devices.get()[-1]


def set_default_device(device: Device | None) -> None:
    """Choose the device of this thread's or task's factories without one, outside of entered devices."""
    _devices.set((device, *_devices.get()[1:]))


def _index(value: Any) -> int:
    """Return an index as an int: NumPy's integers are some, truth values are none."""
    try:
        found = None if isinstance(value, bool) else operator.index(value)
    except Exception:  # noqa: BLE001  # the conversion is the caller's, and may raise anything
        found = None
    if found is None:
        raise ArgumentError(f"a device's index must be int, not {type(value).__name__}")
    if found < 0:
        raise ArgumentError(f"Device index must not be negative, and is {found}")
    return found


@lru_cache(maxsize=256)
def _parse(spelling: str) -> Device:
    found = re.fullmatch(_SPELLING, spelling) if isinstance(spelling, str) else None
    if found is None:
        raise ArgumentError(
            f"Invalid device: {short_repr(spelling)} is not a device",
            hint="write 'type' or 'type:index', for example 'cpu' or 'npu:1'",
        )
    index = found["index"]
    return Device(found["type"], None if index is None else int(index))
