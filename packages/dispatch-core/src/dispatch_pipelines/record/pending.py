"""Pending values, which replace arrays until their steps have run.

A pending value stands where a backend's array stands: in a frontend's tensor, or in the hands of a caller who uses raw
arrays. It has a shape, strides and a dtype at once, from the meta device's kernel, and an array once its step has run.
Its type represents its key, and with it Pipeline, so that a call on it arrives at the recorder, whether or not a
pipeline is open where it is used.

Note [Storage keys]
    Two values may share memory. All values in one memory have the same storage key: for an array the answer of its
    backend's `ArrayType.storage`, for a pending value an object that its views share, until one of them has an array.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Self

from dispatch_core.arrays import access, owners
from dispatch_core.arrays.indices import find_named_index
from dispatch_core.arrays.thread_device import find_current
from dispatch_core.arrays.types import ArrayType
from dispatch_core.keys.table import DispatchKey

from .array_specs import ARRAY_SPECS, UNKNOWN, read_spec

if TYPE_CHECKING:
    from ..run.session import Session


class PendingMemory:
    """The identity of the memory that pending values will lie in."""

    __slots__ = ("error", "key", "offset")

    def __init__(self, key: Hashable = None, offset: int = 0) -> None:
        #: The storage key of the arrays in it, once there is one.
        self.key = key
        #: Where the array lies in it that a captured view was made of.
        self.offset = offset
        #: The error of the step that should have written to it.
        self.error: BaseException | None = None


class Pending:
    """A value that a recorded step will make."""

    __slots__ = ("__weakref__", "error", "meta", "session", "shared", "value")

    #: The key of the backend whose array this will be.
    key: DispatchKey
    #: The index of the device that it will lie on; None while one of the type alone is in use, which is then `alone`.
    index: int | None = None
    alone: int | None = None

    #: Its array spec: shape, strides, dtype. See Note [Array specs] in `array_specs`.
    meta: object
    session: Session
    #: The memory, once a view or a comparison needs it.
    shared: PendingMemory | None
    value: object
    error: BaseException | None

    @classmethod
    def of(cls, meta: object, memory: PendingMemory | None, session: Session) -> Self:
        """Make one; `recorder_source` writes this out, as a constructor would cost too much there."""
        made = cls()
        made.meta, made.shared, made.session = meta, memory, session
        made.value = made.error = None
        return made

    @property
    def memory(self) -> PendingMemory:
        """The memory that it will lie in, which its views share."""
        memory = self.shared
        if memory is None:
            memory = self.shared = PendingMemory()
        return memory

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all dimensions."""
        return access.shape(self.meta)

    @property
    def dtype(self) -> Any:
        """The scalar type of the elements."""
        return access.dtype(self.meta)

    def result(self) -> Any:
        """Return the backend's array, computed now if it is not there yet; raises the error of the step that failed."""
        return self.session.materialize(self)

    def __array__(self, *args: object, **kwargs: object) -> Any:
        return self.result().__array__(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.result(), memo)

    def __reduce__(self) -> Any:
        return _pass_through, (self.result(),)

    def __repr__(self) -> str:
        state = "failed" if self.error is not None else "pending" if self.value is None else "computed"
        return f"<{state} {self.key.label} array, shape {self.shape}, {self.dtype}>"


def _pass_through(array: object) -> object:
    """Return the array that a pickle or a copy of a pending value is made of."""
    return array


def describe(value: object) -> Any:
    """Return the array spec of an array or a pending value; of a list, those of its elements.

    Raises ``NotImplementedError`` for an array that no meta array can describe.
    """
    known = ARRAY_SPECS.get(id(value))
    if known is None and isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    found = known_spec(value) if known is None else known[1]
    if found is UNKNOWN:
        raise NotImplementedError("no shape rule")
    return found


def known_spec(value: object) -> Any:
    """Return the array spec of an array, a pending value or None; UNKNOWN for an array that no meta array can describe."""
    if isinstance(value, Pending):
        return value.meta
    return None if value is None else read_spec(value)


def storage_key(value: object) -> Hashable:
    """Return the key of the memory that ``value`` lies in; see Note [Storage keys]."""
    known = ARRAY_SPECS.get(id(value))
    if known is not None:
        return known[2]
    if isinstance(value, Pending):
        memory = value.memory
        if memory.key is None and value.value is not None:
            memory.key = access.storage_of(value.value)
        return memory if memory.key is None else memory.key
    return access.storage_of(value)


def known_storage_key(value: object) -> Hashable:
    """Return the storage key of ``value``; None for a pending value whose memory no other value shares."""
    return None if isinstance(value, Pending) and value.shared is None else storage_key(value)


_TYPES: Final[dict[tuple[DispatchKey, int | None], type[Pending]]] = {}


def pending_type(key: DispatchKey, index: int | None = None) -> type[Pending]:
    """Return the class of pending values of a backend's key, on one of several devices if there is an ``index``."""
    found = _TYPES.get((key, index))
    if found is None:
        name = f"Pending{key.name}{'' if index is None else index}"
        found = type(name, (Pending,), {"__slots__": (), "key": key, "index": index, "__module__": __name__})
        found = _TYPES.setdefault((key, index), found)
    # Tables of types change when a backend is taken back, and comes again.
    if found not in owners.ARRAY_TYPES:
        owner = owners.KEY_TYPES.get(key, ())
        shape, dtype, strides = (_through_meta(each) for each in ("shape", "dtype", "strides"))
        for name, read in (("shape", shape), ("dtype", dtype)):
            setattr(found, name, property(read))
        if any(each.device_index is not None for each in owner):
            name = owners.KEY_DEVICES[key.backend]
            found.alone = None if find_named_index(name, find_current(name)) is None else 0
        owners.add_stand_in(
            ArrayType(
                found,
                shape=shape,
                dtype=dtype,
                strides=strides if any(each.strides is not None for each in owner) else None,
                # Views of the array are placed within its own memory, which a kernel may have made larger.
                storage_offset=_storage_offset,
                storage=storage_key,
                mutable=all(each.mutable for each in owner),
                device_index=_device_index,
            ),
            key.value | DispatchKey.Pipeline,
        )
    return found


def _storage_offset(pending: Pending) -> int:
    if pending.value is not None:
        return access.storage_offset(pending.value)
    return access.storage_offset(pending.meta) + (0 if pending.shared is None else pending.shared.offset)


def _through_meta(what: str) -> Callable[[Any], Any]:
    """Return the reader of a pending value's look: that of its meta array, without a call of ours where it is none."""
    meta = owners.KEY_TYPES.get(DispatchKey.Meta, ())
    read = getattr(meta[0], what) if len(meta) == 1 else None
    if isinstance(read, attrgetter):
        return attrgetter(f"meta.{read.__reduce__()[1][0]}")
    ask = getattr(access, what)
    return lambda pending: ask(pending.meta)


def _device_index(pending: Pending) -> int | None:
    """Return the index of the device that a pending value lies or will lie on.

    One that was recorded while a single device was in use lies on that: see Note [Several indices] in `indices`.
    """
    if pending.value is not None:
        return access.device(pending.value).index
    return pending.alone if pending.index is None else pending.index
