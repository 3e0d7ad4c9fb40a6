"""Operators as users reach them, by attribute: ``ops.aten`` is a namespace, ``ops.aten.add`` a packet of overloads.

Note [A packet is called through a slot]
    CPython looks ``__call__`` up on the class. Where it finds a slot there, it calls the object in the instance's slot, and
    runs no Python code in between. So a packet of one overload holds that overload, and costs about as much; one of several
    holds a function that chooses. Every definition and closing puts `OpOverloadPacket._call_first` there, which counts the
    overloads at the next call: a packet that is held calls those that there are then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, TypeAlias, cast
from weakref import WeakValueDictionary

from ..arrays.owners import is_tensor
from ..caches import is_lasting, keep
from ..calls.overriding import answer_refused, refused_calls
from ..errors import ClosedOperatorError, NoMatchingOverloadError
from ..keys.keyset import KeysetLike
from ..lazy_text import join_names
from ..schema.check import invalid_combination, matches
from ..tracebacks import api_boundary, trim_traceback
from .known_namespaces import KnownNamespaces
from .overloads import Documentation, OpOverload, SignatureProperty, document_operator

if TYPE_CHECKING:
    from inspect import Signature

    from .registries import Registry


class _Named:
    """An object with a name: a copy is the object itself, and a pickle is its name in the process's registry."""

    __slots__ = ()

    _registry: Registry

    #: ``namespace::name`` of a packet, a namespace, or "" for all.
    _name: str

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        if not self._registry.is_process:
            raise TypeError(f"cannot pickle {self!r}: it belongs to a registry that only this process has")
        return self._registry.restore, (self._name,)


#: How many combinations of types a packet keeps the overload of; each length of a list is one.
_MOST_TYPES: Final = 256


def _list_signatures(packet: OpOverloadPacket) -> list[Signature]:
    from ..signatures import packet_signatures  # it imports inspect

    return packet_signatures(packet)


class OpOverloadPacket(_Named):
    """All overloads of one name; calling it calls the first, in the order of definition, that fits the arguments."""

    __doc__ = Documentation(__doc__, lambda packet: document_operator(packet._registry, packet._name))

    # The dictionary holds the overloads that were asked for, so that a composite finds them again as plain attributes.
    __slots__ = ("__call__", "__dict__", "__weakref__", "_cache", "_name", "_registry")

    #: Call the overload that fits; see Note [A packet is called through a slot].
    __call__: Callable[..., Any]

    __signature__ = SignatureProperty(_list_signatures)

    def __init__(self, owner: Registry, name: str) -> None:
        self._registry, self._name = owner, name
        self._clear()

    def _clear(self) -> None:
        """Forget the overloads, because one came or went."""
        #: The types of a call's arguments → the overload that fits. Replaced, not emptied: the answer that another thread
        #: is just resolving goes into the old one. Under None the types of arguments whose values matter.
        self._cache: dict[Any, Any] = {}
        self.__call__ = self._call_first
        self.__dict__.clear()

    def _call_first(self, /, *args: object, **kwargs: object) -> object:
        """Fill the slot, and call it."""
        try:
            with self._registry.lock:  # so that no definition comes between
                entries = self._registry._packets.get(self._name, {})
                call = next(iter(entries.values())).op if len(entries) == 1 else _make_choice(self)
                self.__call__ = call
            return call(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """Return the overload that a call with these arguments runs.

        Raises ``NoMatchingOverloadError``, in torch's manner, when none fits, and ``ClosedOperatorError`` when there are no
        overloads any more.
        """
        cache = self._cache
        entries = self._registry._packets.get(self._name)
        if entries is None:
            # There were some when the packet was made.
            raise ClosedOperatorError(
                f"{self._name} is gone: the library that defined it was closed",
                hint="keep the Library object open as long as its operators are in use",
            )
        if len(entries) == 1:
            return next(iter(entries.values())).op
        without_schema = None
        for entry in entries.values():
            schema = entry.schema  # read once: another thread may take it back
            if schema is None:
                # One that its library is just taking back may stand beside one that has kernels left.
                if without_schema is None or not without_schema._registrations:
                    without_schema = entry
            elif matches(schema, args, kwargs, is_tensor, strict=True):
                if (types := self._types(args, kwargs)) is not None and _lasts(types):
                    keep(cache, types, entry.op, _MOST_TYPES)
                return entry.op
        schemas = [schema for schema in (entry.schema for entry in entries.values()) if schema is not None]
        # An object that converts to a number has no type of its own, and fits only where nothing else does: nothing is kept.
        for entry in entries.values():
            schema = entry.schema
            if schema is not None and matches(schema, args, kwargs, is_tensor):
                return entry.op
        if without_schema is not None:
            return without_schema.op
        raise invalid_combination(self._name, schemas, args, kwargs, is_tensor)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """Return the overload of a call whose types alone are not known."""
        types = self._types(args, kwargs)
        known = None if types is None else self._cache.get(types)
        if known is not None:
            return known
        try:
            return self.resolve(args, kwargs)
        except NoMatchingOverloadError:
            found = answer_refused(self, args, kwargs) if refused_calls else NotImplemented
            if found is NotImplemented:
                raise
            return cast("OpOverload", lambda *_, **__: found)  # of this call alone

    def _types(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Types, ...] | None:
        """Return the key of overload resolution; a string is as good as another where no overload takes a device."""
        cache = self._cache
        valued = cache.get(None)
        if valued is None:
            entries = self._registry._packets.get(self._name, {})
            schemas = [entry.schema for entry in entries.values()]
            takes_device = any(
                schema is None or any("Device" in str(each.type) for each in schema.arguments) for schema in schemas
            )
            valued = cache[None] = _VALUED if takes_device else _VALUED - {str}
        return _types(args, kwargs, valued)

    def redispatch(self, keyset: KeysetLike, /, *args: object, **kwargs: object) -> Any:
        """Run the overload that fits for an explicit keyset."""
        try:
            return self.resolve(args, kwargs).redispatch(keyset, *args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def overloads(self) -> list[str]:
        """Return the overloads' names, in the order of definition; ``default`` for the one without a name.

        One that has kernels and no schema, as a vendor's misspelt name has, is listed where no other has a schema either.
        """
        found = self._registry.overloads(self._name)
        defined = [name for name, entry in found.items() if entry.schema is not None]
        return [overload or "default" for overload in (defined or found)]

    @property
    def name(self) -> str:
        """Return the packet's name, ``aten::add``."""
        return self._name

    @property
    def _qualified_op_name(self) -> str:
        return self._name

    @property
    def _overload_names(self) -> list[str]:
        return self.overloads()

    @property
    def __name__(self) -> str:
        return self._name.rpartition("::")[2]

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self._name}.{name}"
        # An overload without a name is called "default", and stands under the packet's own name.
        found = self._name if name == "default" else full
        entry = self._registry._entries.get(found)
        if entry is None:
            return self._registry.get(full).op
        with self._registry.lock:  # so that nothing is kept that is just being closed
            if self._registry._entries.get(found) is entry:
                self.__dict__[name] = entry.op
        return entry.op

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.overloads()})

    def __repr__(self) -> str:
        overloads = [overload or "default" for overload in self._registry.find_overloads(self._name)]
        return f"<OpOverloadPacket {self._name}: {join_names(overloads, 120 - len(self._name) - 35)}>"


def _make_choice(packet: OpOverloadPacket) -> Callable[..., Any]:
    """Return the function that a packet of several overloads is called by."""

    def call(*args: object, **kwargs: object) -> object:
        try:
            # The types alone are the quick key; calls with lists are not stored under it. Those of one or two arguments are
            # read faster one by one.
            count = len(args)
            if count == 2:
                first, second = args
                types: tuple[Types, ...] = (type(first), type(second))
            elif count == 1:
                types = (type(args[0]),)
            else:
                types = tuple([type(value) for value in args])
            if kwargs:
                for name, value in kwargs.items():
                    types += (name, type(value))
                return (packet._cache.get(types) or packet._find(args, kwargs))(*args, **kwargs)
            return (packet._cache.get(types) or packet._find(args, kwargs))(*args)
        except Exception as error:
            trim_traceback(error)
            raise

    return call


#: The key of a call's arguments, by which a packet knows their overload: types, names of keywords, and of lists the types of
#: the elements, too.
Types: TypeAlias = "str | type | tuple[Types, ...]"


def _types(
    args: tuple[Any, ...], kwargs: dict[str, Any], valued: frozenset[Callable[..., Any]]
) -> tuple[Types, ...] | None:
    """Return the key of overload resolution: the arguments' types, and for lists those of all elements.

    The name of a keyword stands before its argument's type.
    None when it depends on more than types: a string may or may not name a device, a dictionary has contents. So it does
    for lists that are nested deeper than any schema's, or that contain themselves.
    """
    found: list[Types] = []
    try:
        for value in args:
            kind = type(value)
            if kind in valued:
                return None
            found.append(_type_of(value) if kind in _NESTED else kind)
        for name, value in kwargs.items():
            kind = type(value)
            if kind in valued:
                return None
            found += (name, _type_of(value) if kind in _NESTED else kind)
    except RecursionError:
        return None
    return tuple(found)


def _lasts(types: Types) -> bool:
    """Return whether all classes in a key live as long as their modules, so that keeping them keeps nothing else alive."""
    if isinstance(types, tuple):
        return all(map(_lasts, types))
    return isinstance(types, str) or is_lasting(types)


def _type_of(value: Any, levels: int = 8) -> tuple[Types, ...]:
    """Return the key of a list: its type and those of its elements."""
    kinds = tuple(map(type, value))
    if _NESTED.isdisjoint(kinds):
        return (type(value), *kinds)
    if not levels:
        raise RecursionError
    return (type(value), *[_type_of(item, levels - 1) if type(item) in _NESTED else type(item) for item in value])


_NESTED: frozenset[Callable[..., Any]] = frozenset({list, tuple})
_VALUED: frozenset[Callable[..., Any]] = frozenset({str, dict})


class OpNamespace(_Named):
    """The operators of one namespace, by attribute."""

    def __init__(self, owner: Registry, name: str) -> None:
        self._registry, self._name = owner, name

    @api_boundary
    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = self._registry.ops.packet(f"{self._name}::{name}")
        self.__dict__[name] = packet
        return packet

    def __dir__(self) -> list[str]:
        self._registry.load_namespace(self._name)
        return self._registry.names_in(self._name)

    def __repr__(self) -> str:
        count = len(self._registry.names_in(self._name))
        more = ", its library is not loaded yet" if self._registry.awaits_library(self._name) else ""
        return f"<OpNamespace {self._name}: {count:,} operator{'s' * (count != 1)}{more}>"


class Ops(_Named, KnownNamespaces):
    """The operators of a registry by attribute: ``ops.namespace.name.overload`` (source: ``torch.ops``)."""

    _name = ""

    def __init__(self, owner: Registry) -> None:
        self._registry = owner
        #: Each packet as long as its overloads, a namespace or a caller hold it.
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

    def invalidate(self, name: str) -> None:
        """Drop the cached overloads of a packet that have changed.

        The packet stays the one of that name for good, so that one which a caller holds is never left behind.
        """
        packet = self._packets.get(name)
        if packet is not None:
            packet._clear()
        namespace, _, bare = name.partition("::")
        found = self.__dict__.get(namespace)
        if found is not None:
            found.__dict__.pop(bare, None)

    def load_library(self, path: object) -> NoReturn:
        """Raise ``OSError``: a library of torch's operators is built upon torch's machine code.

        Programs catch it, and go on without the library's operators (source: ``torch.ops.load_library``).
        """
        raise OSError(
            f"Could not load this library: {path} is built upon torch's machine code; dispatch_core.Library"
            " defines operators in Python"
        )

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = OpNamespace(self._registry, name)
        self.__dict__[name] = namespace
        return namespace

    def __dir__(self) -> list[str]:
        return self._registry.namespaces()

    def __repr__(self) -> str:
        return f"<Ops: {join_names(self._registry.namespaces())}>"
