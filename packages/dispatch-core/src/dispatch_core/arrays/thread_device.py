"""The index of the device that a thread works with, and the guard that changes it within a block."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

from .._record import Record
from ..discovery import loader
from ..errors import BackendError, DispatchError, short_repr
from ..interrupts import Leaving
from .owners import DEVICE_KEYS, KEY_TYPES


class HasExchange(Protocol):
    """The parts of a device's interface that a guard needs."""

    current: Callable[[], int] | None
    exchange: Callable[[int], int] | None


class CurrentIndex(Record):
    """The index of the thread's device of a type, as its backend tells it when this is called."""

    _device: str
    _ask: Callable[[], int]

    def __call__(self) -> int:
        """Return the index; raises ``BackendError`` where the backend's function raises, or returns another value."""
        try:
            found: object = self._ask()
        except DispatchError:
            raise
        except Exception as error:
            raise self._fault(f"raised {type(error).__name__}: {error}") from error
        if isinstance(found, int) and found >= 0:
            return found
        raise self._fault(f"returned {short_repr(found)}")

    def _fault(self, how: str) -> BackendError:
        return BackendError(
            f"device {self._device!r}: the function that tells the thread's device {how}",
            hint="DeviceInterface.current, else ArrayType.current_device, returns an index in every thread",
        )


def find_current(device: str) -> Callable[[], int] | None:
    """Return the function that gives the index of the thread's device; None where the backend has none."""
    current = loader().device_interface(device).current
    types: tuple[Any, ...] = KEY_TYPES.get(DEVICE_KEYS[device], ()) if device in DEVICE_KEYS else ()
    ask = current or next((each.current_device for each in types if each.current_device is not None), None)
    return None if ask is None else CurrentIndex(device, ask)


def work_on(device: str, index: int) -> AbstractContextManager[object]:
    """Return a block in which a device is the thread's; one that does nothing where it is already."""
    interface = loader().device_interface(device)
    current = interface.current
    if interface.exchange is None or (current is not None and current() == index):
        return nullcontext()
    return OnDevice(interface, index)


class OnDevice(Leaving):
    """Make a device the thread's within a block; one whose interface has no ``exchange`` has one index only.

    The former is restored after errors and interrupts, too.
    """

    __slots__ = ("_before", "_current", "_exchange", "_index")

    def __init__(self, interface: HasExchange, index: int) -> None:
        self._current: Final[Any] = interface.current
        self._exchange: Final[Any] = interface.exchange
        self._index = index
        self._before: list[int] = []

    def __enter__(self) -> int:
        try:
            if self._exchange is None:
                return self._index
            if self._current is None:
                self._before = [self._exchange(self._index)]
            else:
                # Known before it changes: an interrupt may fall between the call and what takes its result.
                self._before = [self._current()]
                self._exchange(self._index)
            return self._index
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        """Restore the former device; called again after an interrupt, it does the rest."""
        if self._before:
            self._exchange(self._before[-1])
            del self._before[-1]
