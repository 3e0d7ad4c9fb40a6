"""Calls on the arrays of a type of device with several indices: on the device where the arrays lie, which is one.

Note [Placed calls]
    Where a second index of a type of device was noted (Note [Several indices] in `arrays.indices`), every runner of the
    type's calls is wrapped. A call of the user's, above all layers, is refused if its arrays lie on two devices of the
    type, as one with arrays of two types is: by the frontend's hook, or by name. An array without an index fits every
    one, but in a user's call it is on the first device where it lies on that alone. Its ``device`` argument gets the index
    of the thread's device if it names none. A kernel, and a composite, runs on the device of its arrays, or the one
    that a factory names: it is the thread's for so long, so that what they make without naming a device lies there too.

    ``copy_`` takes arrays of two devices: a kernel with the trait ``crosses_devices`` gets them as they are, any other one
    gets a copy of the source on the target's device, made through the host by the device's own kernels. The former copies in
    the order of the streams that are current on both devices (`arrays.crossing_copies`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..arrays.access import to_data, unread
from ..arrays.crossing_copies import run_between
from ..arrays.frontend import wrap_like
from ..arrays.indices import PLACING, SEVERAL, find_first_test, find_named_index
from ..arrays.owners import ARRAY_TYPES, KEY_DEVICES, TYPE_MASKS, mask_of
from ..arrays.protocols import refuse_mixed
from ..arrays.thread_device import OnDevice, find_current
from ..devices import Device
from ..discovery import loader
from ..keys.table import DispatchKey, keys_of
from .traits import Runner

if TYPE_CHECKING:
    from ..operators.entry import OperatorEntry
    from ..runtime.interface import DeviceInterface
    from .signature import CallSignature

#: Represents the indices of a call whose arrays have several.
MIXED: Final = -1
#: The operators whose second array may lie on another device than the first.
COPIES: Final = frozenset({"aten::copy", "aten::copy_"})
#: The operator that moves an array to where another lies.
MOVE: Final = "dispatch::place_like"


class IndexReaders(dict[type, "Callable[[Any], int | None] | None"]):
    """A type of array → the reader of its index; None for types of other devices, and those that tell none."""

    def __init__(self, mask: int, *, is_call: bool = False) -> None:
        super().__init__()
        #: The keys of the devices.
        self.mask = mask
        self._lies_first = find_first_test(mask) if is_call else None

    def find(self, array: Any) -> Callable[[Any], int | None] | None:
        """Return the reader for an array whose type is not in the table, and keep it."""
        cls = type(array)
        if cls not in ARRAY_TYPES:
            mask_of(array)
        known = ARRAY_TYPES[cls]
        found = known.device_index if TYPE_MASKS.get(cls, self.mask) & self.mask else None
        if found is not None and self._lies_first is not None:
            found = _with_first(found, self._lies_first)
        self[cls] = found
        return found


def _with_first(read: Callable[[Any], int | None], lies_first: Callable[[Any], bool]) -> Callable[[Any], int | None]:
    """Return a reader that gives 0 for an array without an index that lies on the first device."""

    def find(array: object) -> int | None:
        found = read(array)
        return 0 if found is None and lies_first(array) else found

    return find


def make_index_finder(
    signature: CallSignature | None, keys: int, *, limit: int | None = None, is_call: bool = False
) -> Callable[[tuple[Any, ...]], int | None]:
    """Return a function of a call's arguments that gives the index of its arrays on the devices of some keys.

    None where they have none, or fit every index; `MIXED` where they lie on several devices. The first arguments alone
    are asked where there is a ``limit``; ``is_call`` says that a user's call is looked at.
    """
    readers = IndexReaders(keys, is_call=is_call)
    parameters = () if signature is None else signature.parameters[:limit]
    lists = [index for index, each in enumerate(parameters) if "list" in each.tensors]
    singles = [index for index, each in enumerate(parameters) if each.tensors and index not in lists]

    def compare(tensor: Any, index: int | None) -> int | None:
        data = getattr(tensor, "_dispatch_data", tensor)
        try:
            read = readers[type(data)]
        except KeyError:
            read = readers.find(data)
        if read is None:
            return index
        try:
            here = read(data)
        except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors] in `arrays`
            fault = unread(ARRAY_TYPES[type(data)], "device_index", error)
            raise fault from fault.__cause__
        return index if here is None else here if index is None or index == here else MIXED

    def find(values: tuple[Any, ...]) -> int | None:
        index: int | None = None
        for place in singles:
            if (value := values[place]) is not None:
                index = compare(value, index)
                if index == MIXED:
                    return MIXED
        for place in lists:
            for value in values[place] or ():
                if value is not None:
                    index = compare(value, index)
                    if index == MIXED:
                        return MIXED
        return index

    return find


def find_index(entry: OperatorEntry, mask: int, values: tuple[Any, ...]) -> int | None:
    """Return the index of the device on which a call runs, `MIXED` for one that is refused or copies between devices.

    None where a single device of the type is in use, and for calls that are not of arrays.
    """
    return make_index_finder(entry.signature, mask & SEVERAL[0], is_call=True)(values) if mask & SEVERAL[0] else None


def make_index_test(signature: CallSignature, keys: int) -> Callable[[tuple[Any, ...], Device], bool]:
    """Return a function of a call's arguments that says whether a device of their type is another one than theirs."""
    find = make_index_finder(signature, keys)

    def is_another(values: tuple[Any, ...], device: Device) -> bool:
        return device.index is not None and find(values) not in (None, device.index)

    return is_another


class Guarded:
    """The functions of a device's interface that a guard calls around each kernel, without a look at the indices."""

    __slots__ = ("current", "exchange")

    def __init__(self, interface: DeviceInterface) -> None:
        exchange = interface.exchange
        self.current, self.exchange = interface.current, getattr(exchange, "plain", exchange)


def place_call(
    entry: OperatorEntry, run: Runner, keys: int, *, is_call: bool, is_kernel: bool, crosses: bool, hook: Runner | None
) -> Runner:
    """Return ``run`` on the device of its arrays, those with one of some keys; see Note [Placed calls].

    ``is_call`` says that a user's call is served, ``is_kernel`` that a kernel of the device or a composite is what runs. The
    kernel takes arrays of several devices where it ``crosses`` them. ``hook`` answers mixed calls of a frontend's tensors.
    """
    signature = entry.signature
    key = next(key for key in keys_of(keys) if key.kind == "device")
    name = KEY_DEVICES[key.backend]
    interface, current = loader().device_interface(name), find_current(name)
    # The indices of arrays that are there were noted.
    direct, ask = Guarded(interface), interface.current or current
    find = make_index_finder(signature, keys, is_call=is_call)
    find_first = make_index_finder(signature, keys, limit=1, is_call=is_call)
    place = None if signature is None else signature.device_index
    exchanges = is_kernel and interface.exchange is not None

    def run_placed(*values: Any, **keywords: Any) -> Any:
        index = find(values)
        if index == MIXED:
            if not (crosses and entry.name in COPIES):
                return run_mixed(values, keywords)
            index = find_first(values)
            source = find((None, *values[1:]))
            assert source is not None and index is not None  # noqa: PT018  # the arrays of a mixed call have indices
            return run_between(name, source, index, lambda: run_on(index, values, keywords))
        if place is not None and isinstance(device := values[place], Device) and device.type == name:
            if device.index is None:
                if is_call and (named := find_named_index(name, current)) is not None:
                    values = (*values[:place], Device(name, named), *values[place + 1 :])
            elif index is None:
                index = device.index
        return run_on(index, values, keywords)

    def run_on(index: int | None, values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if index is None or not exchanges or (ask is not None and ask() == index):
            return run(*values, **keywords)
        with OnDevice(direct, index):
            return run(*values, **keywords)

    def run_mixed(values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if entry.name == MOVE:
            return run(*values, **keywords)
        if entry.name in COPIES:
            if not is_kernel:
                return run(*values, **keywords)  # the kernel below is asked again
            moved = _move(entry, key, values[1], Device(name, find_first(values)))
            return run_placed(values[0], moved, *values[2:], **keywords)
        positional, named = (list(values), keywords) if signature is None else signature.split(values)
        answer = hook if is_call and hook is not None else refuse_mixed
        return answer(entry.op, tuple(positional), named)

    return run_placed


def _move(entry: OperatorEntry, key: DispatchKey, source: Any, target: Device) -> Any:
    """Return a copy of an array or a tensor on another device of the type, made through the host.

    A device whose arrays may lie on several copies from one to another by itself.
    """
    tables = [entry.registry.find_entry(name) for name in ("prims::device_get", "prims::device_put")]
    get, put = (None if each is None else each.explicit_table[key.value] for each in tables)
    assert get is not None and put is not None  # noqa: PT018  # operators of the library that defines the copy
    array = to_data(source)
    return wrap_like(source, put(array if key.value & PLACING[0] else get(array), target))
