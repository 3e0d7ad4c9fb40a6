"""A writer of pickles of protocol 2, the only one that torch's loader takes by default.

Python's own writer names classes and functions where Python finds them. This one names torch's where a file is to say so,
and can leave the bytes of a value open until the whole structure has been met. It keeps a stack of its own, so that the
caller's does not bound the depth of a structure.
"""

from __future__ import annotations

import copyreg
import functools
import pickle
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from types import EllipsisType, FunctionType, NoneType, NotImplementedType
from typing import Any, Final

from ..refusals import NotSavedError
from .names import Name, find_name, make_name, to_python2

#: How many containers may lie within each other; readers of keys go no deeper.
_DEEPEST: Final = 1000
#: How many elements are appended at a time.
_BATCH: Final = 1000
_Work = Iterator[Any]


class Later:
    """A value that is known when the whole structure has been met: ``make`` returns it then.

    It is made of tuples, numbers, texts, names and `Persistent`.
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class Persistent:
    """A value outside of the pickle, by its id."""

    __slots__ = ("identity",)

    def __init__(self, identity: tuple[Any, ...]) -> None:
        self.identity = identity


class Pickler:
    """Writes one value.

    ``replace`` is asked about each object that is not plain data, and returns another value to write, such as a tuple of a
    function and its arguments in `Call`, or None for Python's own way.
    """

    def __init__(self, replace: Callable[[Any], Any], *, first: int = 0) -> None:
        self._replace = replace
        self._parts: list[bytes | Later] = []
        #: The id of each object that may be met again → its number.
        self._memo: dict[int, int] = {}
        self._kept: list[Any] = []  # an id is that of one object as long as it lives
        self._first = first

    def dump(self, value: Any) -> bytes:
        """Return the pickle of a value.

        Raises `NotSavedError` for values that have no pickle, ``ValueError`` for containers that lie too deep.
        """
        self._write(b"\x80\x02")
        self._save(value)
        later = Pickler(self._replace, first=self._first + len(self._memo))
        found = [part if isinstance(part, bytes) else later.write_late(part) for part in self._parts]
        return b"".join([*found, b"."])

    def write_late(self, part: Later) -> bytes:
        """Return the bytes of a value that was left open."""
        self._parts.clear()
        self._save(part.make())
        return b"".join(part for part in self._parts if isinstance(part, bytes))

    def _write(self, part: bytes | Later) -> None:
        self._parts.append(part)

    def _save(self, value: Any) -> None:
        """Write a value, and all that lies in it, by a stack of the containers that are being written."""
        stack: list[_Work] = [iter((value,))]
        while stack:
            for each in stack[-1]:
                work = self._begin(each)
                if work is not None:
                    if len(stack) > _DEEPEST:
                        raise TooDeepError(each)
                    stack.append(work)
                    break
            else:
                stack.pop()

    def _begin(self, value: Any) -> _Work | None:
        """Write a value that has no parts, or return the work of writing one, which yields each part."""
        kind = type(value)
        leaf = _LEAVES.get(kind)
        if leaf is not None:
            self._write(leaf(value))
            return None
        if self._write_known(value):
            return None
        container = _CONTAINERS.get(kind)
        if container is not None:
            return container(self, value)
        if kind is Later:
            self._write(value)
            return None
        replaced = self._replace(value)
        if replaced is not None:
            return (
                self._save_call(*replaced, of=value) if type(replaced) is tuple else self._save_instead(replaced, value)
            )
        if isinstance(value, type) and value in _NAMELESS_TYPES:
            return self._save_call(type, (_NAMELESS_TYPES[value],), of=value)
        if isinstance(value, (type, FunctionType)) and kind not in copyreg.dispatch_table:
            return self._save_instead(find_name(value), value)
        reduced = _reduce(value)
        if isinstance(reduced, str):
            return self._save_instead(find_name(value, reduced), value)
        return self._save_call(*reduced, of=value)

    def _write_known(self, value: Any) -> bool:
        """Write the number of a value that was written before."""
        number = self._memo.get(id(value))
        if number is None:
            return False
        self._write(b"h" + bytes([number]) if number < 256 else b"j" + number.to_bytes(4, "little"))
        return True

    def _memoize(self, value: Any) -> None:
        number = self._first + len(self._memo)
        self._memo[id(value)] = number
        self._kept.append(value)
        self._write(b"q" + bytes([number]) if number < 256 else b"r" + number.to_bytes(4, "little"))

    def _save_text(self, value: str) -> None:
        encoded = value.encode("utf-8", "surrogatepass")
        if len(encoded) >= 1 << 32:
            raise NotSavedError("a text of 4 GiB or more", value)
        self._write(b"X" + len(encoded).to_bytes(4, "little") + encoded)
        self._memoize(value)

    def _save_bytes(self, value: bytes) -> _Work:
        # As text: the protocol has no bytes.
        return self._save_call(_ENCODE, (value.decode("latin1"), "latin1"), of=value)

    def _save_bytearray(self, value: bytearray) -> _Work:
        return self._save_call(bytearray, (bytes(value),) if value else (), of=value)

    def _save_tuple(self, value: tuple[Any, ...]) -> _Work:
        if not value:
            self._write(b")")
            return
        is_long = len(value) > 3
        if is_long:
            self._write(b"(")
        yield from value
        if id(value) in self._memo:  # it contains itself, and was written meanwhile
            self._write(b"1" if is_long else b"0" * len(value))
            self._write_known(value)
            return
        self._write(b"t" if is_long else (b"\x85", b"\x86", b"\x87")[len(value) - 1])
        self._memoize(value)

    def _save_list(self, value: list[Any]) -> _Work:
        self._write(b"]")
        self._memoize(value)
        yield from self._append(value)

    def _append(self, values: Iterable[Any]) -> _Work:
        left = iter(values)
        while batch := list(islice(left, _BATCH)):
            if len(batch) > 1:
                self._write(b"(")
            yield from batch
            self._write(b"e" if len(batch) > 1 else b"a")

    def _save_dict(self, value: dict[Any, Any]) -> _Work:
        self._write(b"}")
        self._memoize(value)
        yield from self._set_items(value.items())

    def _set_items(self, items: Iterable[tuple[Any, Any]]) -> _Work:
        left = iter(items)
        while batch := list(islice(left, _BATCH)):
            if len(batch) > 1:
                self._write(b"(")
            for item in batch:
                yield from item
            self._write(b"u" if len(batch) > 1 else b"s")

    def _save_name(self, value: Name) -> _Work | None:
        owner, _, last = value.name.rpartition(".")
        if owner:  # which readers of the protocol do not look up by themselves
            return self._save_call(make_name("builtins", "getattr"), (make_name(value.module, owner), last), of=value)
        module, name = to_python2(value)
        self._write(b"c" + module.encode() + b"\n" + name.encode() + b"\n")
        self._memoize(value)
        return None

    def _save_persistent(self, value: Persistent) -> _Work:
        yield value.identity
        self._write(b"Q")
        self._memoize(value)

    def _save_instead(self, replaced: Any, value: Any) -> _Work:
        """Write another value for one that is met again under its own identity."""
        yield replaced
        if id(value) not in self._memo and type(replaced) is Name:
            # The name is remembered by itself; the number is that of both.
            self._memo[id(value)] = self._memo[id(replaced)]
            self._kept.append(value)

    def _save_call(
        self,
        function: Any,
        arguments: Sequence[Any] = (),
        state: Any = None,
        elements: Iterable[Any] | None = None,
        items: Iterable[tuple[Any, Any]] | None = None,
        set_state: Any = None,
        *,
        of: Any,
    ) -> _Work:
        """Write an object as a call with arguments, its state, and the elements and items that it has."""
        name = getattr(function, "__name__", "")
        if name == "__newobj_ex__":
            kind, positional, named = arguments
            function, arguments = functools.partial(kind.__new__, kind, *positional, **named), ()
        if name == "__newobj__":
            yield arguments[0]
            yield tuple(arguments[1:])
            self._write(b"\x81")
        else:
            yield function
            yield arguments if isinstance(arguments, Later) else tuple(arguments)
            self._write(b"R")
        if id(of) in self._memo:  # it is among its own arguments, and was written meanwhile
            self._write(b"0")
            self._write_known(of)
        else:
            self._memoize(of)
        if elements is not None:
            yield from self._append(elements)
        if items is not None:
            yield from self._set_items(items)
        if state is None:
            return
        if set_state is None:
            yield state
            self._write(b"b")
        else:
            yield set_state
            yield of
            yield state
            self._write(b"\x86R0")


#: Types that no module names → their only object.
_NAMELESS_TYPES: Final[dict[Any, Any]] = {NoneType: None, EllipsisType: ..., NotImplementedType: NotImplemented}
_ENCODE: Final = make_name("_codecs", "encode")


class TooDeepError(ValueError):
    """The error for containers that lie too deep; it keeps the one that was met."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"save() writes containers that lie within each other up to {_DEEPEST} levels deep")
        self.value = value


def _reduce(value: Any) -> Any:
    """Return what Python says an object is made of; raises `NotSavedError` where it says nothing."""
    own = copyreg.dispatch_table.get(type(value))
    try:
        found = own(value) if own is not None else value.__reduce_ex__(2)
    except (TypeError, pickle.PicklingError) as error:
        if str(error).startswith("cannot pickle"):
            raise NotSavedError(str(error).removeprefix("cannot pickle "), value) from None
        raise
    if not isinstance(found, (str, tuple)) or (isinstance(found, tuple) and not 2 <= len(found) <= 6):
        raise NotSavedError("an object whose __reduce__ returns neither a name nor a tuple", value)
    return found


def _write_int(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 1 << 16:
        return b"M" + value.to_bytes(2, "little")
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + value.to_bytes(4, "little", signed=True)
    encoded = pickle.encode_long(value)
    count = len(encoded)
    return (b"\x8a" + bytes([count]) if count < 256 else b"\x8b" + count.to_bytes(4, "little")) + encoded


_LEAVES: Final[dict[type, Callable[[Any], bytes]]] = {
    type(None): lambda value: b"N",
    bool: lambda value: b"\x88" if value else b"\x89",
    int: _write_int,
    float: lambda value: b"G" + struct.pack(">d", value),
}
_CONTAINERS: Final[dict[type, Callable[[Pickler, Any], _Work | None]]] = {
    str: Pickler._save_text,
    bytes: Pickler._save_bytes,
    bytearray: Pickler._save_bytearray,
    tuple: Pickler._save_tuple,
    list: Pickler._save_list,
    dict: Pickler._save_dict,
    Name: Pickler._save_name,
    Persistent: Pickler._save_persistent,
}
