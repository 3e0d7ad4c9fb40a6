"""Operators as users hold them: ``ops.aten`` is a namespace, ``ops.aten.add`` a packet, ``ops.aten.add.Tensor`` an overload.

Note [An overload is a function]
    Calling an object costs more in CPython than all of dispatch. So an overload is a plain function, with what one may ask
    of it as attributes. Until its first call it only knows how to make the code for its schema, and it takes that over in
    place: whoever holds the overload keeps the same function, also when its schema changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self, cast, runtime_checkable
from weakref import WeakValueDictionary

from ..arrays.owners import is_tensor
from ..calls.lazy_function import LazyFunction
from ..calls.source import Spelling
from ..errors import ArgumentError, ClosedOperatorError
from ..keys.keyset import KeyLike, KeysetLike, as_key
from ..schema.check import invalid_combination, matches
from ..schema.model import FunctionSchema

if TYPE_CHECKING:
    from .entry import OperatorEntry
    from .registries import Registry

__all__ = ["OpNamespace", "OpOverload", "OpOverloadPacket", "Ops"]


@runtime_checkable
class OpOverload(Protocol):
    """One overload of an operator: a function, and what it knows of itself (source: ``torch._ops.OpOverload``).

    Calling it dispatches. Raises ``TypeError`` for arguments that do not fit the schema, ``NoKernelError`` where no kernel
    serves the arguments' keys, ``ClosedOperatorError`` once the library that defined it was closed, and what the kernel
    raises.
    """

    #: The full name, ``aten::add.Tensor``.
    name: str
    #: The namespace, ``aten``.
    namespace: str
    #: The overload's name, ``Tensor``; ``default`` for the one without a name.
    overload_name: str
    #: The schema, or None for an operator that was registered without one.
    schema: FunctionSchema | None
    #: The tags that the operator was defined with.
    tags: frozenset[str]
    #: All overloads of this name.
    packet: OpOverloadPacket
    _entry: OperatorEntry
    #: The call and the redispatch, as what they are made by.
    _lazy: tuple[LazyFunction, LazyFunction]
    #: The call, and functions of frontends that do the same.
    _callers: list[LazyFunction]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Dispatch with the keys of the arguments and the context's masks."""

    def redispatch(self, keyset: KeysetLike, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator for an explicit keyset or mask, without the context's excluded keys."""

    def has_kernel_for_dispatch_key(self, key: KeyLike) -> bool:
        """Tell whether ``key`` has a kernel of its own."""


def make_overload(entry: OperatorEntry) -> OpOverload:
    """Return the function for one overload; see Note [An overload is a function]."""
    engine, lock = entry.registry.engine, entry.registry.lock
    name = entry.operator_name
    call = LazyFunction(lambda: engine.caller(entry), lock, lambda args, kwargs: engine.warm_up(entry, args, kwargs))
    redispatch = LazyFunction(lambda: engine.redispatcher(entry), lock)
    op: Any = call.function
    op._entry, op._lazy, op._callers = entry, (call, redispatch), [call]
    op.name, op.namespace, op.overload_name = entry.name, name.namespace or "", name.overload or "default"
    op.redispatch = redispatch.function
    op.packet = entry.registry.ops.packet_of(name.packet)
    op.has_kernel_for_dispatch_key = lambda key: as_key(key) in entry.kernels
    describe(op)
    return cast("OpOverload", op)


def describe(op: Any) -> None:
    """Set what an overload says of its schema, and let it make its code again at the next call."""
    entry = op._entry
    for lazy in (*op._callers, op._lazy[1]):
        lazy.invalidate()
    op.schema = op._schema = entry.schema
    op.tags = entry.tags
    op.__name__, op.__module__ = entry.name, __name__
    op.__qualname__ = f"{entry.name}()\n{entry.name}" if entry.schema is None else f"{entry.schema}\n{entry.name}"
    op.__doc__ = OpOverload.__doc__


def respell(
    op: OpOverload,
    name: str,
    tensor_type: type,
    otherwise: Callable[..., Any],
    *,
    names: Mapping[str, str] = MappingProxyType({}),
    extra: Mapping[str, Any] = MappingProxyType({}),
    elsewhere: Collection[type] = (),
) -> Callable[..., Any]:
    """Return a function of a frontend that does as ``op`` does, without a call between.

    ``names`` maps arguments of the schema to the function's own names, ``extra`` further keyword-only arguments to their
    defaults. A call that gives one of these, whose last positional argument has a type in ``elsewhere``, or whose tensors
    are none of ``tensor_type``, is handed to ``otherwise`` as it is.

    >>> from dispatch_core import Library, Registry
    >>> class Text:
    ...     _dispatch_mask = 0
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> _ = library.define("count(Tensor self, Tensor other) -> int")
    >>> _ = library.impl("count", lambda a, b: 2)
    >>> count = respell(r.ops.demo.count.default, "count", Text, lambda *args: args, names={"self": "text"}, elsewhere={int})
    >>> count(text=Text(), other=Text()), count("a", 1)
    (2, ('a', 1))
    """
    if not isinstance(op, OpOverload):
        raise ArgumentError(f"expected an OpOverload, not {type(op).__name__}")
    entry = op._entry
    engine = entry.registry.engine
    spelling = Spelling(name, names, extra, tensor_type, frozenset(elsewhere), otherwise)
    lazy = LazyFunction(lambda: engine.respelled(entry, spelling), entry.registry.lock, name=name)
    op._callers.append(lazy)
    return lazy.function


class _Named:
    """What is found by its name: a copy is the thing itself, and a pickle is its name in the process's registry."""

    __slots__ = ()

    _registry: Registry

    #: ``namespace::name`` of a packet, a namespace, or "" for all.
    _name: str

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        from .registries import registry  # registries stand above

        if self._registry is not registry:
            raise TypeError(f"cannot pickle {self!r}: it belongs to a registry that only this process has")
        return _found, (self._name,)


def _found(name: str) -> Any:
    """Return a packet, a namespace, or all operators of the process's registry."""
    from .registries import registry  # as above

    ops = registry.ops
    return ops.packet(name) if "::" in name else getattr(ops, name) if name else ops


class _Overloads:
    """What pickle asks for an overload: a function's qualified name, one attribute after the other.

    That name is the schema, a new line, and the operator's name, which is where a search ends; `describe` makes it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _overload(f"{self._text}.{name}")


def _overload(text: str) -> Any:
    name = text.rpartition("\n")[2]
    if "\n" not in text or text.partition("(")[0] != name:
        return _Overloads(text)
    from .registries import registry  # as above

    return registry.get(name).op


def __getattr__(name: str) -> Any:
    if "::" not in name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _overload(name)


class OpOverloadPacket(_Named):
    """All overloads of one name; calling it calls the first, in the order of definition, that fits the arguments."""

    __slots__ = ("__weakref__", "_cache", "_name", "_registry")

    def __init__(self, owner: Registry, name: str) -> None:
        self._registry, self._name = owner, name
        #: The types of a call's arguments → the overload that fits. Replaced, not emptied, when an overload comes or goes:
        #: what another thread is just resolving goes into the old one.
        self._cache: dict[Any, OpOverload] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the overload that fits."""
        # The types alone are the quick key; only calls without keywords and lists are stored under it.
        found = self._cache.get(tuple(map(type, args))) if not kwargs else None
        if found is None:
            found = self._cache.get(_types(args, kwargs)) or self.resolve(args, kwargs)
        return found(*args, **kwargs)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """Return the overload that a call with these arguments runs.

        Raises ``NoMatchingOverloadError``, in torch's manner, when none fits, and ``ClosedOperatorError`` when there are no
        overloads any more.
        """
        cache = self._cache
        entries = self._registry.packets.get(self._name)
        if entries is None:
            # There were some when the packet was made.
            raise ClosedOperatorError(
                f"{self._name} is gone: the library that defined it was closed",
                hint="keep the Library object open as long as its operators are in use",
            )
        if len(entries) == 1:
            only = next(iter(entries.values())).op
            if (types := _types(args, kwargs)) is not None and _lasts(types):
                cache[types] = only
            return only
        without_schema = None
        for entry in entries.values():
            schema = entry.schema  # read once: another thread may take it back
            if schema is None:
                without_schema = entry
            elif matches(schema, args, kwargs, is_tensor):
                if (types := _types(args, kwargs)) is not None and _lasts(types):
                    cache[types] = entry.op
                return entry.op
        if without_schema is not None:
            return without_schema.op
        schemas = [schema for schema in (entry.schema for entry in entries.values()) if schema is not None]
        raise invalid_combination(self._name, schemas, args, kwargs, is_tensor)

    def redispatch(self, keyset: KeysetLike, /, *args: Any, **kwargs: Any) -> Any:
        """Run the overload that fits for an explicit keyset."""
        return self.resolve(args, kwargs).redispatch(keyset, *args, **kwargs)

    def overloads(self) -> list[str]:
        """Return the overloads' names, in the order of definition; ``default`` for the one without a name."""
        return [overload or "default" for overload in self._registry.overloads(self._name)]

    @property
    def name(self) -> str:
        """Return the packet's name, ``aten::add``."""
        return self._name

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self._name}.{name}"
        # An overload without a name is called "default", and stands under the packet's own name.
        entry = self._registry.entries.get(self._name if name == "default" else full)
        return (self._registry.get(full) if entry is None else entry).op

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket {self._name}: {', '.join(self.overloads())}>"


def _types(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return what overload resolution depends on: the arguments' types, and for lists those of all elements.

    None when it depends on more than types: a string may or may not name a device, a dictionary has contents. So it does
    for lists that are nested deeper than any schema's, or that contain themselves.
    """
    found: list[Any] = []
    try:
        for value in args:
            kind = type(value)
            if kind in _VALUED:
                return None
            found.append(_type_of(value) if kind in _NESTED else kind)
        for name, value in kwargs.items():
            kind = type(value)
            if kind in _VALUED:
                return None
            found.append((name, _type_of(value) if kind in _NESTED else kind))
    except RecursionError:
        return None
    return tuple(found)


def _lasts(types: Any) -> bool:
    """Tell whether all classes in what `_types` gives live as long as their modules, so that to keep them keeps nothing."""
    if isinstance(types, tuple):
        return all(map(_lasts, types))
    if isinstance(types, str) or not types.__flags__ & _ON_HEAP:
        return True
    return getattr(sys.modules.get(types.__module__), types.__qualname__, None) is types


def _type_of(value: Any, levels: int = 8) -> Any:
    if type(value) not in _NESTED:
        return type(value)
    if not levels:
        raise RecursionError
    return (type(value), *[_type_of(item, levels - 1) for item in value])


#: CPython's flag of a class that may go away.
_ON_HEAP = 1 << 9
_NESTED: frozenset[Callable[..., Any]] = frozenset({list, tuple})
_VALUED: frozenset[Callable[..., Any]] = frozenset({str, dict})


class OpNamespace(_Named):
    """The operators of one namespace, by attribute."""

    def __init__(self, owner: Registry, name: str) -> None:
        self._registry, self._name = owner, name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = self._registry.ops.packet(f"{self._name}::{name}")
        self.__dict__[name] = packet
        return packet

    def __dir__(self) -> list[str]:
        prefix = f"{self._name}::"
        return [packet.removeprefix(prefix) for packet in list(self._registry.packets) if packet.startswith(prefix)]

    def __repr__(self) -> str:
        return f"<OpNamespace {self._name}: {len(dir(self))} operators>"


class Ops(_Named):
    """The operators of a registry by attribute: ``ops.namespace.name.overload`` (source: ``torch.ops``)."""

    _name = ""

    def __init__(self, owner: Registry) -> None:
        self._registry = owner
        #: Each packet as long as someone holds it: its overloads, a namespace, or a caller.
        self._packets: WeakValueDictionary[str, OpOverloadPacket] = WeakValueDictionary()

    def packet(self, name: str) -> OpOverloadPacket:
        """Return the packet ``namespace::name``; raises ``OperatorNotFoundError`` when there is none."""
        self._registry.overloads(name)
        return self.packet_of(name)

    def packet_of(self, name: str) -> OpOverloadPacket:
        """Return the packet of that name, whether or not it has overloads."""
        packet = self._packets.get(name)
        if packet is None:
            with self._registry.lock:
                packet = self._packets.get(name)
                if packet is None:
                    packet = self._packets[name] = OpOverloadPacket(self._registry, name)
        return packet

    def forget(self, name: str) -> None:
        """Drop what was kept for a packet whose overloads have changed.

        The packet stays the one of that name for good, so that one which a caller holds is never left behind.
        """
        packet = self._packets.get(name)
        if packet is not None:
            packet._cache = {}
        namespace, _, bare = name.partition("::")
        found = self.__dict__.get(namespace)
        if found is not None:
            found.__dict__.pop(bare, None)

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = OpNamespace(self._registry, name)
        self.__dict__[name] = namespace
        return namespace

    def __dir__(self) -> list[str]:
        return sorted({packet.partition("::")[0] for packet in list(self._registry.packets)})
