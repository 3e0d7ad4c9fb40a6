"""Copies between devices in captured calls: values on their way through the host.

An operator that returns a tensor's elements on the host, and one that makes an array of the host's data, are together a
copy from one device to another. While a call is recorded the first one returns a `HostValue`, which can do nothing but
become the argument of the second one; the two are then recorded as one step. Looking at the elements is an error. (A
recording that may give up makes none: it reads the elements, and records no more.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.arrays import access, owners
from dispatch_core.arrays.indices import SEVERAL
from dispatch_core.devices import Device
from dispatch_core.keys.table import DispatchKey
from dispatch_core.runtime import lay_out_host

from ..record.array_specs import read_spec, respaced_spec, row_major_spec
from ..record.callers import caller_location
from ..record.pending import Pending, pending_type
from ..record.steps import Step, step_type

if TYPE_CHECKING:
    from ..capture.capturing import Recording


class HostValue:
    """The elements of a tensor on the host, which a replay will have."""

    __slots__ = ("_copies", "_recording", "_step", "_strides")

    def __init__(
        self, recording: Recording, step: Step, *, copies: bool = False, strides: tuple[int, ...] | None = None
    ) -> None:
        self._recording, self._step, self._copies, self._strides = recording, step, copies, strides

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all dimensions."""
        return access.shape(self._step.values[0])

    @property
    def dtype(self) -> str:
        """The name of the scalar type."""
        dtype = access.dtype(self._step.values[0])
        return str(getattr(dtype, "short", dtype))

    @property
    def flags(self) -> Any:
        """Flags that say whether arrays can be written to: these are not for that."""
        return _Flags

    def copy(self, order: str = "C") -> HostValue:
        """Return the same elements in memory of their own, laid out as they will be."""
        return HostValue(self._recording, self._step, copies=True, strides=self._strides)

    def lay_out(self, strides: tuple[int, ...]) -> HostValue:
        """Return the same elements with these strides, counted in elements."""
        return HostValue(self._recording, self._step, copies=self._copies, strides=strides)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_dispatch", "__schema")):
            raise AttributeError(name)  # it is not a tensor, and represents no number
        self._recording.refuse_read(self._step.name)

    def _refuse(self, *_: object) -> Any:
        self._recording.refuse_read(self._step.name)

    __array__ = __bool__ = __float__ = __int__ = __len__ = __iter__ = __getitem__ = _refuse


class _Flags:
    writeable = False


class _NoSteps:
    """Represents an operator's tables where `step_type` keeps classes of steps: as yet there are none."""

    def __init__(self) -> None:
        self.steps: tuple[int, dict[Any, type[Step]]] = -1, {}


class _OneRunner(dict[int, Callable[..., Any]]):
    """The table of a copy, which has one runner."""

    find = dict.__getitem__


class CopyEntry:
    """The entry of a step of a copy, instead of an operator's: the operator that reads, and another function."""

    def __init__(self, value: HostValue, make: Callable[..., Any], rest: tuple[Any, ...], mask: int) -> None:
        step, copies, strides = value._step, value._copies, value._strides
        self._entry = step.entry
        #: Its steps are of another class than the operator's, and than those of copies to other devices.
        self.tables = _NoSteps()
        #: Equal for copies that mean the same, whichever recorder made their steps.
        self.meaning = step.entry, rest, mask, copies, strides
        self.name = f"{step.name} to {next(each for each in rest if isinstance(each, Device))}"
        read, source = step.entry.explicit_table, step.mask

        def move(array: object) -> object:
            found = read[source](array)
            found = found.copy("K") if copies else found
            return access.to_data(make(found if strides is None else lay_out_host(found, strides), *rest))

        self.explicit_table = _OneRunner({mask: move})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)


_kinds: Final[dict[tuple[Any, ...], type[Step]]] = {}
#: Marks the keys of copies, which no device's plugin plans.
_BETWEEN: Final = DispatchKey.BackendSelect


def record_copy(value: HostValue, make: Callable[..., Any], rest: tuple[Any, ...]) -> Any:
    """Record the copy of a value to a device, and return the value that represents its result."""
    step, recording = value._step, value._recording
    source = step.values[0]
    mask = step.mask | _BETWEEN.value
    known = type(step), make, rest, value._copies, value._strides
    kind = _kinds.get(known)
    if kind is None:
        entry: Any = CopyEntry(value, make, rest, mask)
        kind = _kinds[known] = step_type(entry, mask, (), device=_BETWEEN)
    device = next(each for each in rest if isinstance(each, Device))
    target = owners.device_key(device.type)
    meta = source.meta if isinstance(source, Pending) else read_spec(source)
    has_strides = all(
        any(each.strides is not None for each in owners.KEY_TYPES.get(key, ())) for key in (target, key_of(source))
    )
    index = device.index if target & SEVERAL[0] else None
    spec = meta if has_strides else row_major_spec(meta)
    if has_strides and value._strides is not None:
        spec = respaced_spec(meta, value._strides)
    made = pending_type(target, index).of(spec, None, recording.session)
    recording.session.add(kind.of((source,), (made,), *caller_location()))
    return made


def key_of(array: object) -> DispatchKey:
    """Return the key of the backend that owns an array, or a value that represents one."""
    if isinstance(array, Pending):
        return array.key
    return next(key for key, types in owners.KEY_TYPES.items() if any(each.type is type(array) for each in types))


def is_host_read(step: Step) -> bool:
    """Return whether a call returns the elements of its only argument on the host."""
    signature = step.entry.signature
    if signature is None or len(signature.parameters) != 1 or not signature.parameters[0].tensors:
        return False
    return [str(each.type) for each in signature.schema.returns] == ["Any"]
