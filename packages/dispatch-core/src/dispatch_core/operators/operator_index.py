"""Operators by their names: a registry's own, and those of operator libraries that are loaded when a name asks for them.

Note [Kernels for unknown operators]
    To register for a name without a schema makes an operator, as in torch, and so a kernel for ``expp`` is never called and
    never missed. In the namespace of an operator library, where all operators are known, it is said at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from ..bookkeeping import transactions
from ..caches import keep
from ..discovery import loader
from ..errors import OperatorNotFoundError, UnknownOperatorWarning
from ..forks import Order, forkable
from ..keys.keyset import KeyLike, as_key
from ..keys.table import DispatchKey
from ..lazy_text import join_names
from ..schema.model import OperatorName
from .entry import OperatorEntry
from .lazy_definitions import LazyOperators
from .namespaces import OpOverloadPacket, Ops
from .overloads import OpOverload
from .registration import Registration

if TYPE_CHECKING:
    from .registries import Registry


def parse_name(name: str) -> OperatorName:
    """Read an operator's name; a bare one means ``aten``, and the overload ``default`` is the one without a name.

    >>> str(parse_name("add"))
    'aten::add'
    """
    parsed = _names.get(name)
    if parsed is None:
        parsed = OperatorName.parse(name)
        overload = "" if parsed.overload == "default" else parsed.overload
        parsed = OperatorName(parsed.namespace or "aten", parsed.name, overload)
        keep(_names, name, parsed, _MOST_NAMES)
    return parsed


_MOST_NAMES: Final = 100_000
_names: dict[str, OperatorName] = {}


def load_operators(namespace: str) -> bool:
    """Load the operator library that an installed distribution declares for ``namespace``, once."""
    return loader().operator_library(namespace)


class OperatorIndex:
    """The operators of a registry by their names."""

    #: Whether it is the process's registry, which loads plugins.
    is_process = False

    def __init__(self) -> None:
        self.lock = forkable(Order.REGISTRY)
        self._entries: dict[str, OperatorEntry] = {}
        #: packet name → its overloads' entries, in the order of registration.
        self._packets: dict[str, dict[str, OperatorEntry]] = {}
        #: The operators that stand in neither yet; see Note [Announced operators] in `lazy_definitions`.
        self._lazy = LazyOperators(cast("Registry", self))
        self._ops: Ops | None = None

    @property
    def entries(self) -> dict[str, OperatorEntry]:
        """Return every operator by its full name; those that are only announced are defined."""
        self._lazy.define_all()
        return self._entries

    @property
    def packets(self) -> dict[str, dict[str, OperatorEntry]]:
        """Return every packet's overloads by its name; those that are only announced are defined."""
        self._lazy.define_all()
        return self._packets

    @property
    def ops(self) -> Ops:
        """Return the operators by attribute: ``registry.ops.aten.add.Tensor``."""
        ops = self._ops
        if ops is None:
            with self.lock:
                ops = self._ops
                if ops is None:
                    ops = self._ops = Ops(cast("Registry", self))
        return ops

    def _entry(self, name: OperatorName) -> OperatorEntry:
        """Return the entry of that name, a new one where there is none."""
        full = str(name)
        with self.lock:
            entry = self._entries.get(full)
            if entry is None:
                entry = OperatorEntry(cast("Registry", self), name)
                self._entries[full] = entry
                overloads = self._packets.setdefault(name.packet, {})
                self._packets[name.packet] = {**overloads, name.overload: entry}
                if self._ops is not None:
                    self._ops.invalidate(name.packet)
        return entry

    def _drop_if_empty(self, entry: OperatorEntry) -> None:
        """Remove an operator that has neither schema nor kernels; its handles answer that it is closed."""
        if entry.schema is not None or entry._registrations or entry._specialized:
            return
        entry.closed = True
        entry.invalidate()
        if self._entries.get(entry.name) is not entry:
            return
        del self._entries[entry.name]
        for spelled in (entry.name, f"{entry.name}.default"):
            _names.pop(spelled, None)
        packet = entry.operator_name.packet
        left = {name: found for name, found in self._packets.get(packet, {}).items() if found is not entry}
        if left:
            self._packets[packet] = left
        else:
            self._packets.pop(packet, None)
        if self._ops is not None:
            self._ops.invalidate(packet)

    def overloads(self, packet: str) -> Mapping[str, OperatorEntry]:
        """Return the overloads of ``namespace::name``, loading the namespace's operator library if need be.

        Raises ``OperatorNotFoundError`` when there are none.
        """
        found = self.find_overloads(packet)
        if not found and self.is_process and load_operators(packet.partition("::")[0]):
            found = self.find_overloads(packet)
        if not found:
            raise self._not_found(packet)
        return found

    def find_overloads(self, packet: str) -> Mapping[str, OperatorEntry]:
        """Return the overloads of ``namespace::name`` that are defined or announced; no library is loaded for it."""
        found = self._packets.get(packet)
        if found is None and self._lazy.define(packet):
            found = self._packets.get(packet)
        return found or {}

    def find_entry(self, name: str) -> OperatorEntry | None:
        """Return the entry of exactly that full name, if it is defined or announced; no library is loaded for it."""
        found = self._entries.get(name)
        if found is None and self._lazy.define(name.partition(".")[0]):
            found = self._entries.get(name)
        return found

    def packet_names(self) -> list[str]:
        """Return the names of all packets, ``namespace::name``, also of those that are only announced."""
        with self.lock:
            return [*dict.fromkeys((*self._packets, *self._lazy.packets))]

    def names_in(self, namespace: str) -> list[str]:
        """Return the names of a namespace's packets, without the namespace; no library is loaded for it."""
        prefix = f"{namespace}::"
        return [packet.removeprefix(prefix) for packet in self.packet_names() if packet.startswith(prefix)]

    def load_namespace(self, namespace: str) -> None:
        """Load the operator library of a namespace, if one is installed; no operator is defined for it."""
        if self.is_process:
            load_operators(namespace)

    def awaits_library(self, namespace: str) -> bool:
        """Return whether an operator library for a namespace is installed and not loaded."""
        return self.is_process and not loader().has_operators(namespace) and namespace in self._list_libraries()

    @staticmethod
    def _list_libraries() -> set[str]:
        return {claim.name for claim in loader().catalog.usable_libraries()}

    def namespaces(self) -> list[str]:
        """Return the namespaces with operators, and those of installed libraries; none is loaded for it."""
        return sorted(
            {
                *(self._list_libraries() if self.is_process else ()),
                *(packet.partition("::")[0] for packet in self.packet_names()),
            }
        )

    def get(self, name: str) -> OperatorEntry:
        """Return the entry for ``namespace::name.overload``; a bare name means ``aten``.

        A name without overload that no operator has answers for all overloads together.
        Raises ``OperatorNotFoundError`` when there is no such operator.
        """
        entry = self._entries.get(name)
        if entry is not None:
            return entry
        parsed = parse_name(name)
        full = str(parsed)
        entry = self._entries.get(full)
        if entry is not None:
            return entry
        overloads = self.overloads(parsed.packet)
        entry = overloads.get(parsed.overload)
        if entry is not None:
            return entry
        if parsed.overload or name.endswith(".default"):
            raise self._not_found(name)
        return self._union(parsed, overloads)

    def _union(self, name: OperatorName, overloads: Mapping[str, OperatorEntry]) -> OperatorEntry:
        union = OperatorEntry(cast("Registry", self), name)
        merged: dict[DispatchKey, tuple[Registration, ...]] = {}
        for entry in overloads.values():
            union.schema = union.schema or entry.schema
            for key, found in entry._registrations.items():
                if key not in merged or merged[key][0].is_fallthrough:
                    merged[key] = found
        union._registrations = merged
        return union

    def _not_found(self, name: str) -> OperatorNotFoundError:
        import difflib  # only an error needs it

        parsed = parse_name(name)
        siblings = self.find_overloads(parsed.packet)
        if siblings:
            spelled = ", ".join(overload or "default" for overload in siblings)
            wanted = parsed.overload or "default"
            return OperatorNotFoundError(
                f"operator {parsed.packet} has no overload {wanted!r}", hint=f"its overloads are {spelled}"
            )
        prefix = f"{parsed.namespace}::"
        # A namespace makes any two of its names much alike.
        names = self.names_in(parsed.namespace or "")
        close = difflib.get_close_matches(parsed.name, names, n=3)
        near = (
            [prefix + name for name in close]
            if names
            else difflib.get_close_matches(parsed.packet, self.packet_names(), n=3)
        )
        spelled = join_names(self.namespaces())
        hint = f"did you mean {' or '.join(near)}?" if near else f"namespaces with operators: {spelled}"
        return OperatorNotFoundError(f"no operator is named {parsed.packet}", hint=hint)

    def _load_siblings(self, name: OperatorName) -> None:
        """Define a library's overloads of a packet before the first one from elsewhere, loading the library if need be.

        Else the packet, found without the library's overloads, would keep them from being looked for.
        """
        self._load_library(name)
        self._lazy.define(name.packet)

    def _load_library(self, name: OperatorName) -> bool:
        """Load the operator library of a namespace, if it is to be asked for a packet that is not known yet."""
        if self.is_process and name.packet not in self._packets and name.packet not in self._lazy.packets:
            return load_operators(name.namespace or "")
        return False

    def has_kernel(self, name: str, key: KeyLike) -> bool:
        """Return whether ``key`` has a kernel of its own for ``name`` (any overload, where none is named)."""
        wanted = as_key(key)
        try:
            entry = self.get(name)
        except OperatorNotFoundError:
            return False
        found = entry.newest(wanted)
        return found is not None and not found.is_fallthrough

    def kernel_count(self) -> int:
        """Return how many kernels are active: one for each operator and key that has one."""
        return sum(len(entry.kernels) for entry in self)

    def __iter__(self) -> Iterator[OperatorEntry]:
        return iter(list(self.entries.values()))

    def find(self, name: str) -> OpOverload | OpOverloadPacket:
        """Return the target of a call of ``name``: the overload that it names or that is the only one, else the packet.

        Raises ``OperatorNotFoundError`` when there is no such operator.
        """
        parsed = parse_name(name)
        if parsed.overload or name.endswith(".default"):
            return self.get(name).op
        overloads = self.overloads(parsed.packet)
        return next(iter(overloads.values())).op if len(overloads) == 1 else self.ops.packet(parsed.packet)


# Note [Kernels for unknown operators]

#: How many overloads are named where none is near.
_SHOWN: Final = 5


def is_unknown(entry: OperatorEntry) -> bool:
    """Return whether no schema was defined for an operator in the namespace of a loaded operator library."""
    return entry.schema is None and has_library(entry)


def has_library(entry: OperatorEntry) -> bool:
    """Return whether an operator's namespace is that of an installed operator library, which is loaded."""
    return loader().has_operators(entry.operator_name.namespace or "")


def warn_of_unknown(entry: OperatorEntry, registration: Registration) -> None:
    """Warn of a kernel for an operator that nothing defines, if there are operators of much the same name."""
    if is_unknown(entry) and (names := near(entry)):
        transactions.warn(
            f"a kernel for {entry.name} is registered under {registration.key.label} at {registration.origin}, and no"
            f" operator has that name; did you mean {' or '.join(names)}?",
            UnknownOperatorWarning,
            registration.origin,
        )


def near(entry: OperatorEntry) -> list[str]:
    """Return the full names of defined operators that an operator's name may have been meant for, the nearest first."""
    from difflib import get_close_matches  # only a wrong name needs it

    registry, name = entry.registry, entry.operator_name
    overloads = _list_defined(registry, name.packet)
    if overloads:
        close = get_close_matches(name.overload, overloads, n=3)
        return [overloads[each] for each in close] or [*overloads.values()][:_SHOWN]
    prefix = f"{name.namespace}::"
    packets = [packet.removeprefix(prefix) for packet in registry.packet_names() if packet.startswith(prefix)]
    found = []
    for each in get_close_matches(name.name, packets, n=3, cutoff=0.75):
        overloads = _list_defined(registry, prefix + each)
        found += [overloads.get(name.overload) or next(iter(overloads.values()))] if overloads else []
    return found


def _list_defined(registry: Registry, packet: str) -> dict[str, str]:
    """Return the overloads of a packet that have a schema, and their full names."""
    overloads = registry.find_overloads(packet)
    return {overload: entry.name for overload, entry in overloads.items() if entry.schema is not None}
