"""Operators that are defined when they are first named: a library announces their names, and keeps the rest until then.

Note [Announced operators]
    A program names few of an operator library's thousands of operators. So a library may announce names
    (``Library.define_lazily``), and define one when asked (`LazyDefinition`). The first look-up of any
    overload defines all those of its packet, in the order of the announcement: schemas, tags, composite kernels. The
    answers are asked for and checked before the registry's lock is taken, for they may import modules, and are then put in
    as one: no other thread meets half a packet, and an operator with a faulty schema is announced still, and answers with
    its fault each time. Whether an operator is defined yet can be seen nowhere: names are listed, missed and clashed with
    all the same, and everything that reads more than names defines the operators that it reads.

Note [Kernels that wait]
    Backends register kernels for hundreds of operators that are only announced. Such a registration waits beside the name
    and defines nothing. Kernels under composite keys, of which the definition brings its own, specialized kernels, whose
    argument is looked up in the schema, and a second kernel for a key do not wait: they define the operator, and are then
    compared with its other kernels. Registrations that a definition brings count as old as the announcement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from .._record import Record
from ..arrays.protocols import Kernel
from ..bookkeeping.levels import Level
from ..bookkeeping.origins import Origin
from ..errors import DispatchError, RegistrationError, SchemaError
from ..keys.keyset import as_key
from ..keys.table import DispatchKey
from ..schema.model import FunctionSchema, OperatorName
from .candidates import GiveWay
from .entry import NO_TAGS, OperatorEntry
from .registration import KernelFactory, Registration, insert_by_level, next_number

if TYPE_CHECKING:
    from .registries import Registry

_COMPOSITE: Final = "Composite"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class LazyDefinition(Record):
    """The definition of an announced operator, which ``Library.define_lazily`` asks for at the first use.

    ``kernels`` maps composite keys to kernels. ``give_way`` has the arguments of ``Library.give_way`` after the name:
    another operator of the namespace, the function that calls it, and whether that holds under Autograd keys too.
    """

    schema: str
    tags: tuple[str, ...] = ()
    kernels: Mapping[str, Kernel | KernelFactory] = MappingProxyType({})
    give_way: tuple[str, Kernel, bool] | None = None


class Announcement:
    """One announcement: the function that gives definitions, and where and when it was made."""

    def __init__(self, ns: str, load: Callable[[str], LazyDefinition], origin: Origin, level: Level) -> None:
        self.ns, self.load, self.origin, self.level = ns, load, origin, level
        self.number = next_number()
        #: The operators that were defined from it.
        self.defined: list[tuple[OperatorEntry, _CheckedDefinition]] = []


class LazyKernels(Record):
    """Kernels under one key that a namespace's operators get when they are defined, from ``Library.impl_lazily``."""

    ns: str
    key: DispatchKey
    load: Callable[[str], Kernel | KernelFactory | None]
    origin: Origin
    level: Level
    number: int

    def registration(self, name: OperatorName) -> Registration | None:
        """Return the registration for an operator, or None where it gets no kernel."""
        fn = self.load(f"{name.name}.{name.overload}" if name.overload else name.name)
        return None if fn is None else Registration(self.key, fn, self.origin, level=self.level, number=self.number)


class _CheckedDefinition(Record):
    """A definition that was asked for and checked."""

    announcement: Announcement
    schema: FunctionSchema
    tags: frozenset[str]
    registrations: tuple[Registration, ...]
    way: GiveWay | None


class LazyOperators:
    """The operators of a registry that are announced and not defined yet, and the kernels that wait for them."""

    def __init__(self, owner: Registry) -> None:
        self._registry = owner
        #: packet → its announced overloads, each with its announcement. The inner mappings are replaced, never changed.
        self.packets: dict[str, Mapping[str, Announcement]] = {}
        self._announcements: list[Announcement] = []
        #: operator → the kernels that wait for it, each under a key of its own.
        self._waiting: dict[str, dict[DispatchKey, Registration]] = {}
        #: namespace → the kernels of every operator that will be defined in it.
        self._kernels: dict[str, tuple[LazyKernels, ...]] = {}

    def announce(self, made: Announcement, names: Iterable[str]) -> None:
        """Announce operators by their names with overload; nothing is announced where one of them is known already.

        Raises ``RegistrationError`` for a name that is defined or announced.
        """
        registry = self._registry
        registry.note_level(made.level)
        found: dict[str, dict[str, Announcement]] = {}
        for name in names:
            base, _, overload = name.partition(".")
            found.setdefault(f"{made.ns}::{base}", {})[overload] = made
        with registry.lock:
            for packet in found.keys() & (self.packets.keys() | registry._packets.keys()):
                self._check_new(packet, found[packet])
                found[packet] = {**self.packets.get(packet, {}), **found[packet]}
            self.packets.update(found)
            self._announcements.append(made)
        # Operators are never half of them announced: calls look for overloads among the defined ones only.
        for packet in [packet for packet in found if packet in registry._packets]:
            self.define(packet)

    def _check_new(self, packet: str, overloads: Mapping[str, Announcement]) -> None:
        announced, defined = self.packets.get(packet, {}), self._registry._packets.get(packet, {})
        for overload, made in overloads.items():
            first = announced[overload].origin if overload in announced else None
            if overload in defined and defined[overload].schema is not None:
                first = defined[overload].origin
            if first is not None:
                raise RegistrationError(
                    f"{packet}{overload and '.'}{overload} is defined already, at {first}; the second definition is at"
                    f" {made.origin}",
                    hint="define an operator once; register kernels for it with impl",
                )

    def define(self, packet: str) -> bool:
        """Define the announced overloads of ``namespace::name``; return whether there were any.

        Raises ``RegistrationError`` or ``SchemaError`` for a faulty definition; nothing is defined then.
        """
        registry = self._registry
        while (announced := self.packets.get(packet)) is not None:
            ns = packet.partition("::")[0]
            kernels = self._kernels.get(ns, ())
            prepared = {overload: _prepare(made, packet, overload) for overload, made in announced.items()}
            further = {
                overload: [
                    found for each in kernels if (found := each.registration(definition.schema.name)) is not None
                ]
                for overload, definition in prepared.items()
            }
            with registry.lock:
                # Else another thread has defined them, or registered for more of them.
                if self.packets.get(packet) is announced and self._kernels.get(ns, ()) is kernels:
                    self._publish(packet, prepared, further)
                    return True
        return packet in registry._packets

    def _publish(
        self, packet: str, prepared: Mapping[str, _CheckedDefinition], further: Mapping[str, Iterable[Registration]]
    ) -> None:
        """Make the entries of a packet and let calls find them, all at once: look-ups take no lock."""
        registry = self._registry
        before = registry._packets.get(packet, {})
        made = {
            overload: self._make_entry(each, before.get(overload), further[overload])
            for overload, each in prepared.items()
        }
        registry._entries.update({entry.name: entry for entry in made.values()})
        registry._packets[packet] = {**before, **made}
        del self.packets[packet]
        for overload, entry in made.items():
            self._waiting.pop(entry.name, None)
            prepared[overload].announcement.defined.append((entry, prepared[overload]))
            if overload in before:
                registry._reset(entry)
        if registry._ops is not None:
            registry._ops.invalidate(packet)

    def _make_entry(
        self, made: _CheckedDefinition, before: OperatorEntry | None, further: Iterable[Registration]
    ) -> OperatorEntry:
        """Make the entry of a definition, or complete the one without a schema that there is."""
        entry = before or OperatorEntry(self._registry, made.schema.name)
        held = dict(entry._registrations)
        for registration in (*made.registrations, *further, *self._waiting.get(entry.name, {}).values()):
            held[registration.key] = insert_by_level(held.get(registration.key, ()), registration)
        entry._registrations = held
        entry.schema, entry.tags, entry.origin = made.schema, made.tags, made.announcement.origin
        if made.way is not None:
            self._registry.put_offer(entry.name, made.way)
        return entry

    def define_all(self) -> None:
        """Define every announced operator."""
        for packet in list(self.packets):
            self.define(packet)

    def withdraw(self, made: Announcement) -> None:
        """Take an announcement back, with all that was defined from it; kernels that wait stay, without schema."""
        registry = self._registry
        with registry.lock:
            for packet, announced in list(self.packets.items()):
                left = {overload: each for overload, each in announced.items() if each is not made}
                if left:
                    self.packets[packet] = left
                elif announced:
                    del self.packets[packet]
                for overload in announced.keys() - left.keys():
                    name = _name_of(packet, overload)
                    for registration in self._waiting.pop(str(name), {}).values():
                        registry._put(registry._entry(name), registration)
            self._announcements = [each for each in self._announcements if each is not made]
            defined, made.defined = made.defined, []
            for entry, definition in reversed(defined):
                if definition.way is not None:
                    registry.remove_offer(entry.name, definition.way)
                for registration in definition.registrations:
                    registry.remove_kernel(entry, registration)
                registry.remove_schema(entry, definition.schema)

    def keep_waiting(self, name: str, registration: Registration) -> bool:
        """Keep a kernel until its operator is defined, if it can wait; see Note [Kernels that wait]."""
        packet, _, overload = name.partition(".")
        key = registration.key
        if (
            overload not in self.packets.get(packet, _NOTHING)
            or registration.when is not None
            or key.kind == "types"
            or (key.is_alias and key.name.startswith(_COMPOSITE))
        ):
            return False
        with self._registry.lock:
            if overload not in self.packets.get(packet, _NOTHING):
                return False
            waits = self._waiting.setdefault(name, {}).setdefault(key, registration) is registration
            self._registry.invalidate_dependents(name)
            return waits

    def stop_waiting(self, name: str, registration: Registration) -> bool:
        """Take back a kernel that waits; return whether it was waiting. The registry's lock is held."""
        waiting = self._waiting.get(name, {})
        if waiting.get(registration.key) is not registration:
            return False
        del waiting[registration.key]
        self._registry.invalidate_dependents(name)
        return True

    def waits_below(self, name: str, registration: Registration, mask: int) -> bool:
        """Return whether an operator is only announced, and would get no kernel for a mask that is above a registration."""
        packet, _, overload = name.partition(".")
        if overload not in self.packets.get(packet, _NOTHING):
            return False
        kernels: list[Registration | LazyKernels] = [*self._waiting.get(name, {}).values()]
        kernels += [*self._kernels.get(packet.partition("::")[0], ()), *self._registry.fallbacks.values()]
        short = registration.level, registration.number
        keys = {each.key for each in kernels if (each.level, each.number) > short}
        return not any(key.owns_arrays and mask & key for key in keys)

    def add_kernels(self, made: LazyKernels) -> None:
        """Register kernels for all announced operators of a namespace, at once for those that are defined already."""
        registry = self._registry
        registry.note_level(made.level)
        with registry.lock:
            self._kernels[made.ns] = (*self._kernels.get(made.ns, ()), made)
            defined = [entry for each in self._announcements if each.ns == made.ns for entry, _ in each.defined]
            if made.key.owns_arrays:
                registry.invalidate_all()
        for entry in defined:
            registration = made.registration(entry.operator_name)
            if registration is not None:
                with registry.lock:
                    registry._put(entry, registration)

    def remove_kernels(self, made: LazyKernels) -> None:
        """Take back kernels for all operators of a namespace, also from those that were defined since."""
        registry = self._registry
        with registry.lock:
            self._kernels[made.ns] = tuple(each for each in self._kernels.get(made.ns, ()) if each is not made)
            if made.key.owns_arrays:
                registry.invalidate_all()
            for entry in list(registry._entries.values()):
                for registration in entry.registrations(made.key):
                    if registration.number == made.number:
                        registry.remove_kernel(entry, registration)


def _name_of(packet: str, overload: str) -> OperatorName:
    ns, _, name = packet.partition("::")
    return OperatorName(ns, name, overload)


def _prepare(made: Announcement, packet: str, overload: str) -> _CheckedDefinition:
    """Ask for the definition of an operator, and check it."""
    wanted = _name_of(packet, overload)
    bare = f"{wanted.name}.{overload}" if overload else wanted.name
    try:
        definition = made.load(bare)
        schema = FunctionSchema.parse(definition.schema).with_namespace(made.ns)
    except DispatchError:
        raise
    except Exception as error:
        raise RegistrationError(
            f"{wanted} is announced at {made.origin}, and cannot be defined: {type(error).__name__}: {error}"
        ) from error
    if schema.name != wanted:
        raise SchemaError(
            f"the definition of {wanted}, announced at {made.origin}, has a schema named {schema.name}",
            hint="a schema's name and overload are those that were announced",
        )
    registrations = []
    for key, fn in definition.kernels.items():
        found = as_key(key)
        if not found.name.startswith(_COMPOSITE):
            raise RegistrationError(
                f"the definition of {wanted}, announced at {made.origin}, has a kernel under {found.label}",
                hint="a definition has kernels under composite keys; register others with impl",
            )
        registrations.append(Registration(found, fn, made.origin, level=made.level, number=made.number))
    way = None
    if definition.give_way is not None:
        to, fn, autograd = definition.give_way
        below = DispatchKey.CompositeExplicitAutograd
        instead = Registration(below, fn, made.origin, level=made.level, number=made.number)
        way = GiveWay(f"{made.ns}::{to}", instead, autograd)
    tags = frozenset(definition.tags) if definition.tags else NO_TAGS
    return _CheckedDefinition(made, schema, tags, tuple(registrations), way)
