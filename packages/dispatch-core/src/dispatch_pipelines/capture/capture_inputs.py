"""The state before a call that is recorded, and the host's data that the call makes arrays of.

A tensor that was there before the call is an input: those among the arguments, and each that an operator meets and the
call has not made. A replay reads the array that the tensor holds then. A tensor that does not outlive the call, because
it was made of an array that was there, leaves that array as an input, which never changes.

Note [The host's data]
    An array made of the host's data is a constant, if it is equal in both recordings. Where it shares memory with the data
    both times, the replay reads that memory again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final
from weakref import ref

from dispatch_core.arrays import access, owners
from dispatch_core.arrays.frontend import frontend_of
from dispatch_core.arrays.indices import SEVERAL
from dispatch_core.arrays.late_arrays import IN_USE, find_computed
from dispatch_core.keys.table import DispatchKey

from ..record.array_specs import read_spec
from ..record.pending import storage_key

_PIPELINE: Final = DispatchKey.Pipeline.value


class Input:
    """A tensor or a raw array that was there before the call."""

    __slots__ = (
        "array",
        "array_type",
        "constant",
        "data",
        "get",
        "identity",
        "index",
        "is_held",
        "key",
        "kind",
        "look",
        "mask",
        "owner",
        "place",
        "reference",
        "shown",
        "spec",
        "start",
        "tensor",
        "twins",
    )

    def __init__(self, tensor: object, data: object, place: str) -> None:
        #: The tensor or array; None once the call is over, where it is found by ``place`` or ``reference``.
        self.tensor = tensor
        #: Where it stands among the arguments; "" for one that the function found elsewhere.
        self.place = place
        #: Whether the function can find the argument elsewhere, too; see `held_tensors`.
        self.is_held = False
        #: Where else it stands.
        self.twins: list[str] = []
        #: The input of which a replay gets it, and the function that does.
        self.owner: Input | None = None
        self.get: Callable[[Any], Any] | None = None
        self.array = data
        # Another thread may be recording a call with it.
        self.mask: int = getattr(tensor, "_dispatch_mask", 0) & ~_PIPELINE
        self.kind, self.array_type = type(tensor), type(data)
        self.spec, self.look = read_spec(data), layout_of(type(data))(data)
        self.shown, self.start = describe_tensor(tensor), byte_offset(data)
        #: The index of the device that it lies on, where several of its type are in use.
        self.index = access.device(data).index if owners.TYPE_MASKS.get(type(data), 0) & SEVERAL[0] else None
        #: Identities of arrays, and of memories, as long as the call lasts.
        self.identity, self.key = id(data), storage_key(data)
        self.reference: Callable[[], Any] | None = None
        #: A raw array, which is no argument.
        self.constant: object = data if tensor is data and not place else None
        #: The array's own data on the host, of an array that the call has made of them.
        self.data: HostData | None = None

    def arrays(self) -> list[Any]:
        """Return the array, and the one that was computed for it, which calls may have been given."""
        computed = find_computed(self.array) if IN_USE else None
        return [self.array] if computed is None else [self.array, computed]

    @property
    def is_found(self) -> bool:
        """Whether the function found the tensor elsewhere than in an argument or another tensor."""
        return not self.place and self.get is None and self.constant is None and self.data is None

    def release(self) -> None:
        """Refer to the tensor weakly; where nothing else refers to it, to another that holds the array."""
        tensor, self.tensor = self.tensor, None
        array, self.array = self.array, None
        if not self.is_found:
            return
        frontend = frontend_of(tensor)
        self.reference = ref(tensor)
        del tensor
        if self.reference() is None and frontend is not None:
            other = frontend.new()
            other._dispatch_mask, other._dispatch_data = self.mask, array
            self.reference = lambda: other


def byte_offset(array: object) -> int:
    """Return where an array begins in its memory, in bytes."""
    return access.storage_offset(array) * int(getattr(access.dtype(array), "itemsize", 1))


def describe_tensor(tensor: object) -> tuple[Any, Any, Any]:
    """Return shape, strides and dtype of a tensor."""
    return access.shape(tensor), access.strides(tensor), access.dtype(tensor)


def layout_of(kind: type) -> Callable[[Any], Any]:
    """Return the function that reads shape, strides and dtype of arrays of a type as one value."""
    return owners.ARRAY_TYPES[kind].layout or describe_tensor


class HostData:
    """An array that a recorded call has made of the host's data."""

    __slots__ = ("before", "is_shared", "key", "make", "operator", "text")

    def __init__(self, operator: str, make: Callable[..., Any], values: tuple[Any, ...], found: object) -> None:
        self.operator = operator
        #: The data as they were, and the function that makes an array of them.
        self.before = (copy.copy(values[0]), *values[1:])
        self.make = make
        self.key = storage_key(found)
        data = self.before[0]
        self.text = data.tobytes() if hasattr(data, "tobytes") else repr(data)
        #: Whether the array lies in the data's memory, and these are the same in each call.
        self.is_shared = False

    def again(self) -> Any:
        """Return an array of the same data."""
        return getattr(found := self.make(copy.copy(self.before[0]), *self.before[1:]), "_dispatch_data", found)
