"""The indices of arrays, where a process works with several devices of one type.

Note [Several indices]
    Kernels work on the thread's device, which is the one with index 0 until the thread chooses another. While a process has
    worked with that one alone, all of the type's arrays lie there, and calls do not look at indices. The first request that
    names another (a factory's ``device``, an ``exchange``) is noted here before an array can lie there. From then on the
    runners of the type's calls compare the indices of the arrays and work on the device of these (`calls.placed_calls`),
    and recorded calls keep their index. The tables of all operators are emptied for that, once.

    A backend takes part whose `ArrayType` has a ``device_index``. One that answers None for an array says that it fits
    every index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..bookkeeping.changes import notify_change
from ..devices import Device
from ..forks import Order, forkable
from ..keys.table import ARRAYS, DispatchKey, keys_of
from .owners import DEVICE_KEYS, KEY_TYPES
from .part_errors import note_part
from .thread_device import find_current

#: The keys, as a mask, of the arrays of types of devices of which another index than 0 was noted.
SEVERAL: Final = [0]
#: The keys, as a mask, of the arrays of devices whose arrays may lie on several at once: see `note_placing`.
PLACING: Final = [0]
#: Such a device's key → what tells whether an array without an index lies on the first one.
_first: Final[dict[DispatchKey, Callable[[object], bool]]] = {}
_noted: Final[set[str]] = set()
_lock: Final = forkable(Order.LOADING)


def note_device(device: str | Device) -> None:
    """Tell the core that arrays may lie on a device from now on, from a backend's own functions for the thread's device.

    Requests that name a device, and ``exchange`` of a device's interface, tell it by themselves. From then on calls run on
    the device of their arrays, where that is not the first one of its type.

    >>> note_device("cpu")
    """
    found = Device.parse(device)
    if found.index:
        note_index(found.type, found.index)


def note_index(device: str, index: int | None) -> None:
    """Take note that arrays may lie on a device from now on; None means the thread's own one of the type.

    See Note [Several indices]. Nothing happens for a type whose arrays tell no index.
    """
    if device in _noted or index == 0 or (key := DEVICE_KEYS.get(device)) is None:
        return
    if all(each.device_index is None for each in KEY_TYPES.get(key, ())):
        return
    if index is None:
        find = find_current(device)
        if find is None or find() == 0:
            return
    with _lock:
        if device not in _noted:
            SEVERAL[0] |= _keys_of_device(key)
            notify_change()
            # Last: another thread that finds it goes on without the lock.
            _noted.add(device)


def note_placing(key: DispatchKey, lies_first: Callable[[object], bool] | None = None) -> None:
    """Tell the core that arrays of a backend's key may lie on several devices at once.

    It has a kernel of ``dispatch::place_like`` then: what takes the place of an array that cannot be written lies as that
    did. An array that was made without an index, on the first device, has none, so that it meets those on several;
    ``lies_first(array)`` tells it from these, and users' calls refuse it beside one on another device.
    """
    PLACING[0] |= _keys_of_device(key)
    if lies_first is not None:
        _first[key] = lies_first


def find_first_test(mask: int) -> Callable[[object], bool] | None:
    """Return the function that tells whether an array of some keys that has no index lies on the first device."""
    return next((found for key, found in _first.items() if key.value & mask), None)


def find_named_index(device: str, find: Callable[[], int] | None) -> int | None:
    """Return the index of a device that is named without one: the thread's, as ``find`` tells it.

    None where it tells none, and for the first device of a type whose arrays may lie on several: see `note_placing`.
    """
    index = None if find is None else find()
    key = DEVICE_KEYS.get(device)
    return None if index == 0 and key is not None and key.value & PLACING[0] else index


def forget_indices(device: str, key: DispatchKey) -> None:
    """Forget the indices of a device whose backend is taken back."""
    with _lock:
        _noted.discard(device)
        SEVERAL[0] &= ~_keys_of_device(key)


def several_in(mask: int) -> list[int]:
    """Return the keys in a mask of each type of device of which several are in use, as a mask for each."""
    found = {key.backend: key for key in keys_of(mask & SEVERAL[0])}
    return list(map(_keys_of_device, found.values()))


def _keys_of_device(key: DispatchKey) -> int:
    """Return the keys of a device's arrays, those of layouts included, as a mask."""
    mask = 0
    for each in DispatchKey:
        if each.backend == key.backend and each & ARRAYS:
            mask |= each.value
    return mask


class NotedExchange:
    """A backend's function ``exchange`` of its interface, with the indices noted that it is called with."""

    __slots__ = ("_device", "plain")

    def __init__(self, device: str, exchange: Callable[[int], int]) -> None:
        self._device, self.plain = device, exchange

    def __call__(self, index: int) -> int:
        """Make another device the thread's, and return the former."""
        if index > 0:
            note_index(self._device, index)
        try:
            return self.plain(index)
        except Exception as error:
            note_part(error, f"{self._device}:{index}", "exchange")
            raise
