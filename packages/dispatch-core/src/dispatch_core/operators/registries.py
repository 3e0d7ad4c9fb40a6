"""The registry: operators by name, and what is registered for them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from .. import transactions
from ..arrays import owners
from ..arrays.types import BackendInfo
from ..caches import keep
from ..calls import codegen, reference
from ..changes import on_change
from ..discovery import loader
from ..errors import (
    ArgumentError,
    NoKernelError,
    OperatorNotFoundError,
    OverwriteWarning,
    RegistrationError,
    SchemaError,
    quoted,
)
from ..forks import Order, forkable
from ..keys import context
from ..keys.keyset import KeyLike, KeysetLike, as_key, as_mask
from ..keys.table import PROFILES, DispatchKey
from ..levels import Level
from ..schema.model import FunctionSchema, OperatorName
from .dispatch_table import Slot
from .entry import NO_TAGS, OperatorEntry, kernel_keys
from .registration import (
    KernelFactory,
    Origin,
    Registration,
    Registrations,
    caller_origin,
    fallthrough_kernel,
    next_number,
    stacked,
)
from .resolution import Resolution

if TYPE_CHECKING:
    from .overloads import OpOverload, Ops

__all__ = ["OperatorEntry", "Registry", "registry"]

_registries: Final[weakref.WeakSet[Registry]] = weakref.WeakSet()
# A WeakSet cannot be read while another thread adds to it.
_registries_lock: Final = forkable(Order.REGISTRY)


class Registry:
    """Operators and what is registered for them.

    ``profile`` names the order of keys to follow (one of ``PROFILES``). ``interpreted`` runs calls in plain code instead of
    generated functions. The process has one, ``registry``, which also loads operator libraries by namespace.

    >>> r = Registry()
    >>> r.register_schema("demo::double", "double(int x) -> int")
    >>> _ = r.register_kernel("demo::double", "CompositeImplicitAutograd", lambda x: 2 * x)
    >>> r.dispatch("demo::double", 21)
    42
    """

    def __init__(self, *, profile: str = PROFILES[0], interpreted: bool = False) -> None:
        if profile not in PROFILES:
            raise RegistrationError(
                f"no profile is named {quoted(profile)}", hint=f"choose one of {', '.join(PROFILES)}"
            )
        self.profile = profile
        self.engine: Any = reference if interpreted else codegen
        self.lock = forkable(Order.REGISTRY)
        self.entries: dict[str, OperatorEntry] = {}
        #: packet name → its overloads' entries, in the order of registration.
        self.packets: dict[str, dict[str, OperatorEntry]] = {}
        #: The active fallback of each key, and all of them.
        self.fallbacks: dict[DispatchKey, Registration] = {}
        self._fallbacks: dict[DispatchKey, Registrations] = {}
        #: Array types of other backends that backends of this registry own here; see `translated`.
        self._claims: dict[type, int] = {}
        #: operator → those that give way to kernels of it; see `give_way`.
        self.giving_way: dict[str, tuple[str, ...]] = {}
        #: namespace → where its one DEF library was opened.
        self.definitions: dict[str, Origin] = {}
        #: operator → what ``custom_op`` made of it.
        self.custom_ops: dict[str, Any] = {}
        self._ops: Ops | None = None
        with _registries_lock:
            _registries.add(self)

    @property
    def is_process(self) -> bool:
        """Tell whether this is the process's registry, which loads plugins."""
        return self is registry

    @property
    def ops(self) -> Ops:
        """Return the operators by attribute: ``registry.ops.aten.add.Tensor``."""
        ops = self._ops
        if ops is None:
            from .overloads import Ops  # handles stand above the registry

            with self.lock:
                ops = self._ops
                if ops is None:
                    ops = self._ops = Ops(self)
        return ops

    # Names.

    def _entry(self, name: str) -> OperatorEntry:
        """Return the entry of that name, made new where there is none."""
        parsed = parse_name(name)
        full = str(parsed)
        with self.lock:
            entry = self.entries.get(full)
            if entry is None:
                entry = OperatorEntry(self, parsed)
                self.entries[full] = entry
                overloads = self.packets.setdefault(parsed.packet, {})
                self.packets[parsed.packet] = {**overloads, parsed.overload: entry}
                if self._ops is not None:
                    self._ops.forget(parsed.packet)
        return entry

    def _drop_if_empty(self, entry: OperatorEntry) -> None:
        """Let an operator go that has neither schema nor kernels; its handles answer that it is closed."""
        if entry.schema is not None or entry._registrations or entry._covered:
            return
        entry.closed = True
        entry.forget()
        if self.entries.get(entry.name) is not entry:
            return
        del self.entries[entry.name]
        for spelled in (entry.name, f"{entry.name}.default"):
            _names.pop(spelled, None)
        packet = entry.operator_name.packet
        left = {name: found for name, found in self.packets.get(packet, {}).items() if found is not entry}
        if left:
            self.packets[packet] = left
        else:
            self.packets.pop(packet, None)
        if self._ops is not None:
            self._ops.forget(packet)

    def overloads(self, packet: str) -> Mapping[str, OperatorEntry]:
        """Return the overloads of ``namespace::name``, loading the namespace's operator library if need be.

        Raises ``OperatorNotFoundError`` when there are none.
        """
        found = self.packets.get(packet)
        if found is None and self is registry and load_operators(packet.partition("::")[0]):
            found = self.packets.get(packet)
        if found is None:
            raise self._not_found(packet)
        return found

    def get(self, name: str) -> OperatorEntry:
        """Return the entry for ``namespace::name.overload``; a bare name means ``aten``.

        A name without overload that no operator has answers for all overloads together.
        Raises ``OperatorNotFoundError`` when there is no such operator.
        """
        entry = self.entries.get(name)
        if entry is not None:
            return entry
        parsed = parse_name(name)
        full = str(parsed)
        entry = self.entries.get(full)
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
        union = OperatorEntry(self, name)
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
        siblings = self.packets.get(parsed.packet)
        if siblings is not None:
            spelled = ", ".join(overload or "default" for overload in siblings)
            wanted = parsed.overload or "default"
            return OperatorNotFoundError(
                f"operator {parsed.packet} has no overload {wanted!r}", hint=f"its overloads are {spelled}"
            )
        packets = list(self.packets)
        near = difflib.get_close_matches(parsed.packet, packets, n=3)
        namespaces = sorted({packet.partition("::")[0] for packet in packets})
        spelled = ", ".join(namespaces) or "none"
        hint = f"did you mean {' or '.join(near)}?" if near else f"namespaces with operators: {spelled}"
        return OperatorNotFoundError(f"no operator is named {parsed.packet}", hint=hint)

    # Registration.

    def register_schema(self, name: str, schema: str | FunctionSchema, *, tags: tuple[str, ...] = ()) -> None:
        """Give the operator ``name`` its schema; the text may leave the namespace out.

        Raises ``SchemaError`` for malformed text or another name, ``RegistrationError`` when it has a schema already.
        """
        self.define(name, schema, tags)

    def define(self, name: str, schema: str | FunctionSchema, tags: tuple[str, ...] = ()) -> OperatorEntry:
        """Do as ``register_schema`` and return the operator's entry."""
        parsed = parse_name(name)
        made = FunctionSchema.parse(schema) if isinstance(schema, str) else schema
        if made.name.namespace is None and parsed.namespace is not None:
            made = made.with_namespace(parsed.namespace)
        if made.name != parsed:
            raise SchemaError(
                f"the schema registered for {parsed} is named {made.name}",
                hint="a schema's name and overload are those it is registered under",
            )
        origin = caller_origin()
        self._load_siblings(parsed)
        with self.lock:
            entry = self._entry(name)
            if entry.schema is not None:
                raise RegistrationError(
                    f"{entry.name} is defined already, at {entry.origin}; the second definition is at {origin}",
                    hint="define an operator once; register kernels for it with impl",
                )
            entry.schema, entry.tags, entry.origin = made, frozenset(tags) if tags else NO_TAGS, origin
            self._reset(entry)
        transactions.record(lambda: self.remove_schema(entry, made))
        return entry

    def _load_siblings(self, name: OperatorName) -> None:
        """Load the namespace's operator library before a first overload of a packet is registered from elsewhere.

        Else the packet, found without the library's overloads, would keep the library from being loaded.
        """
        if self is registry and name.packet not in self.packets:
            load_operators(name.namespace or "")

    def remove_schema(self, entry: OperatorEntry, schema: FunctionSchema) -> None:
        """Take back the schema that an operator was given; the operator goes with it once it has no kernels either.

        Nothing happens when it was taken back before and the operator has another one now.
        """
        with self.lock:
            if entry.schema is not schema:
                return
            entry.schema, entry.tags, entry.origin = None, NO_TAGS, None
            self._reset(entry)
            self._drop_if_empty(entry)

    def _reset(self, entry: OperatorEntry) -> None:
        """Forget what was made from an operator's schema."""
        entry.forget()
        if entry._op is not None:
            from .overloads import describe  # handles stand above the registry

            describe(entry._op)
        if self._ops is not None:
            self._ops.forget(entry.operator_name.packet)

    def register_kernel(
        self,
        name: str,
        key: KeyLike,
        fn: Callable[..., Any] | KernelFactory,
        *,
        with_keyset: bool = False,
        when: tuple[str, Any] | None = None,
        allow_override: bool | None = None,
        level: str | Level | None = None,
    ) -> Registration:
        """Register ``fn`` as the kernel of operator ``name`` under ``key``.

        An unknown name makes an operator without schema, whose arguments are not checked; where an operator library has
        operators of much the same name, an ``UnknownOperatorWarning`` names them.
        ``with_keyset`` puts the effective keyset first. ``when=("alpha", 1)`` registers a covered kernel, which serves calls
        with that value and does not receive the argument; a general kernel that is registered after it hides it. Registering
        again replaces the kernel with an ``OverwriteWarning``; ``allow_override=True`` says that this is meant, and False
        that it must not be. Of several kernels the one of the highest ``level`` is active, and within a level the newest:
        "program" is above "backend", which is the level of what a backend registers while it loads and of nothing else.
        Raises ``ArgumentError`` when ``fn`` is not callable, ``RegistrationError`` where ``allow_override`` forbids to
        replace another kernel, or ``when`` names no argument.
        """
        if not callable(fn) and not isinstance(fn, KernelFactory):
            raise ArgumentError(f"the kernel for {name} is not callable: {type(fn).__qualname__}")
        registration = Registration(
            as_key(key),
            fn,
            caller_origin(),
            with_keyset=with_keyset,
            when=when,
            level=_level(level),
            number=next_number(),
            is_meant=allow_override is True,
        )
        self._load_siblings(parse_name(name))
        with self.lock:
            entry = self._entry(name)
            try:
                self._check_registration(entry, registration, allow_override=allow_override)
                if entry.schema is None and self is registry:
                    from .near_misses import warn_of_unknown  # only what has no schema needs it

                    warn_of_unknown(entry, registration)
            except BaseException:
                self._drop_if_empty(entry)
                raise
            self._put(entry, registration)
        transactions.record(lambda: self.remove_kernel(entry, registration), (entry, registration))
        return registration

    def register_fallthrough(self, name: str, key: KeyLike) -> Registration:
        """Let the operator ``name`` pass ``key`` over."""
        return self.register_kernel(name, key, fallthrough_kernel)

    def register_fallback(
        self,
        key: KeyLike,
        fn: Callable[..., Any] | KernelFactory,
        *,
        with_keyset: bool = False,
        level: str | Level | None = None,
    ) -> Registration:
        """Register what runs under ``key`` for every operator without a kernel there: ``fn(op, *args, **kwargs)``.

        Raises ``ArgumentError`` when ``fn`` is not callable, ``RegistrationError`` for an alias key, or when the key has a
        fallback of the same level; that of the highest level is active.
        """
        found = as_key(key)
        if not callable(fn) and not isinstance(fn, KernelFactory):
            raise ArgumentError(f"the fallback for {found.label} is not callable: {type(fn).__qualname__}")
        registration = Registration(
            found,
            fn,
            caller_origin(),
            with_keyset=with_keyset,
            boxed=fn is not fallthrough_kernel,
            level=_level(level),
            number=next_number(),
        )
        with self.lock:
            if found.is_alias:
                raise RegistrationError(
                    f"a fallback cannot be registered for the alias key {found.name}", hint="name each runtime key"
                )
            held = self._fallbacks.get(found, ())
            for older in (each for each in held if each.level is registration.level):
                raise RegistrationError(
                    f"{found.label} has a fallback already, registered at {older.origin}; the second is at"
                    f" {registration.origin}",
                    hint="close the library that registered the first",
                )
            self._fallbacks[found] = stack = stacked(held, registration)
            self.fallbacks[found] = stack[0]
            self.forget_all()
        transactions.record(lambda: self.remove_fallback(registration), (None, registration))
        return registration

    def ensure_fallback(
        self, key: DispatchKey, fn: Callable[..., Any] | KernelFactory, *, with_keyset: bool = False
    ) -> None:
        """Register a layer's fallback for good, unless its key has one; not as part of a transaction under way."""
        with self.lock:
            if key not in self.fallbacks:
                transactions.outside(lambda: self.register_fallback(key, fn, with_keyset=with_keyset))

    def give_way(
        self, name: str, to: str, fn: Callable[..., Any], *, autograd: bool = False
    ) -> tuple[OperatorEntry, tuple[str, Registration, bool]]:
        """Let the operator ``name`` run ``fn``, which calls ``to``, where a kernel of ``to`` is of a higher level.

        For an overload with a number, whose kernels are no more than a quicker way than that of the overload with a tensor:
        see Note [What a general kernel hides] in `levels`. ``fn`` is a composite, and sees what the caller passed. With
        ``autograd`` that holds under Autograd keys too: who writes the number calls ``to`` itself.
        """
        registration = Registration(
            DispatchKey.CompositeExplicitAutograd, fn, caller_origin(), level=_level(None), number=next_number()
        )
        way = str(parse_name(to)), registration, autograd
        with self.lock:
            entry = self._entry(name)
            entry._way = way
            self.giving_way[way[0]] = (*self.giving_way.get(way[0], ()), entry.name)
            entry.forget()
        transactions.record(lambda: self.remove_way(entry, way))
        return entry, way

    def remove_way(self, entry: OperatorEntry, way: tuple[str, Registration, bool]) -> None:
        """Take back what ``give_way`` has registered, unless it was replaced since."""
        with self.lock:
            if entry._way is not way:
                return
            entry._way = None
            left = tuple(name for name in self.giving_way.pop(way[0]) if name != entry.name)
            if left:
                self.giving_way[way[0]] = left
            entry.forget()

    def _check_registration(self, entry: OperatorEntry, new: Registration, *, allow_override: bool | None) -> None:
        """Refuse or report a registration that takes another one's place."""
        if new.when is not None:
            known = () if entry.schema is None else tuple(argument.name for argument in entry.schema.arguments)
            if new.when[0] not in known:
                raise RegistrationError(
                    f"{entry.name}: a covered kernel is registered for argument {new.when[0]!r}, which the schema lacks",
                    hint=f"its arguments are {', '.join(known) or 'unknown, because it has no schema'}",
                )
        rivals = entry.registrations(new.key)
        if new.when is not None:
            rivals = tuple(found for found in entry.covered(new.key) if found.when == new.when)
        elif not rivals:
            # Without a general kernel beside them, covered ones would be hidden without a word.
            rivals = tuple(found for found in entry.covered(new.key) if new.is_above(found))
        if not rivals:
            return
        below, above = (rivals[0], new) if new.is_above(rivals[0]) else (new, rivals[0])
        if above is new and allow_override is False:
            raise RegistrationError(_overwriting(entry, below, new), hint="close the library that registered the first")
        if not (new.is_meant or above.is_meant):
            # Reported for the line that registers, however many frames of the core lie above it.
            transactions.warn(_overwriting(entry, below, above), OverwriteWarning, above.origin)

    def _put(self, entry: OperatorEntry, new: Registration) -> None:
        if new.when is not None:
            entry._covered = {**entry._covered, new.key: stacked(entry.covered(new.key), new)}
        else:
            entry._registrations = {**entry._registrations, new.key: stacked(entry.registrations(new.key), new)}
        entry.forget()

    def remove_kernel(self, entry: OperatorEntry, registration: Registration) -> None:
        """Take one registration back; the next one for the same key becomes active."""
        with self.lock:
            for attribute in ("_registrations", "_covered"):
                held = getattr(entry, attribute)
                left = tuple(found for found in held.get(registration.key, ()) if found is not registration)
                rest = {key: found for key, found in held.items() if key is not registration.key}
                setattr(entry, attribute, {**rest, registration.key: left} if left else rest)
            entry.forget()
            self._drop_if_empty(entry)

    def restore_kernel(self, entry: OperatorEntry, registration: Registration) -> None:
        """Put a registration that was taken back in its place again."""
        with self.lock:
            self._put(entry, registration)

    def remove_fallback(self, registration: Registration) -> None:
        """Take a fallback back."""
        with self.lock:
            key = registration.key
            left = tuple(found for found in self._fallbacks.pop(key, ()) if found is not registration)
            self.fallbacks.pop(key, None)
            if left:
                self._fallbacks[key], self.fallbacks[key] = left, left[0]
            self.forget_all()

    def forget_all(self) -> None:
        """Empty the tables of every operator."""
        with self.lock:
            for entry in list(self.entries.values()):
                entry.forget()

    def add_backend(self, info: BackendInfo) -> DispatchKey:
        """Make a backend's device, key and array types known, to every registry of the process.

        Array types that belong to another backend become its own in this registry alone, unless this is the process's.
        Raises ``RegistrationError`` when one of them is another backend's.
        """
        # Recorded first, so that a rollback, which runs backwards, empties the tables last.
        transactions.record(forget_everywhere)
        key = owners.add_backend(info, None if self is registry else self._claims)
        forget_everywhere()
        return key

    @contextmanager
    def transaction(
        self, *, distribution: tuple[str, str] | None = None, level: str | Level | None = None
    ) -> Iterator[None]:
        """Undo every registration that this thread or task makes in the block when the block raises.

        ``distribution`` (name and version) is whom the registrations belong to. With ``level="backend"`` they rank below
        whatever the program registers; a library imported by the program registers its own so.
        """
        with transactions.transaction(distribution=distribution, level=None if level is None else Level.of(level)):
            yield

    def translated(self, mask: int) -> int:
        """Return a call's mask with the key of a type's owner in this registry for that of its owner in the process."""
        for cls, own in self._claims.items():
            theirs = owners.TYPE_MASKS.get(cls, 0)
            if mask & theirs:
                mask = mask & ~theirs | own
        return mask

    # Questions.

    def has_kernel(self, name: str, key: KeyLike) -> bool:
        """Tell whether ``key`` has a kernel of its own for ``name`` (any overload, where none is named)."""
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

    # Calls by name.

    def find(self, name: str) -> Any:
        """Return what a call of ``name`` calls: the overload that it names or that is the only one, else the packet.

        Raises ``OperatorNotFoundError`` when there is no such operator.
        """
        parsed = parse_name(name)
        if parsed.overload or name.endswith(".default"):
            return self.get(name).op
        overloads = self.overloads(parsed.packet)
        return next(iter(overloads.values())).op if len(overloads) == 1 else self.ops.packet(parsed.packet)

    def dispatch(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator ``name`` with the keys of its arguments and the context's masks.

        A bare name means ``aten``; without an overload, the first that fits the arguments is called. Raises
        ``OperatorNotFoundError``, ``ArgumentError``, ``NoKernelError``, or what the kernel raises.
        """
        return self.find(name)(*args, **kwargs)

    def dispatch_with_keyset(self, name: str, keyset: KeysetLike, /, *args: Any, **kwargs: Any) -> Any:
        """Call ``name`` with (``keyset`` with the included keys) without the excluded ones; priority decides."""
        op = self._overload(name, args, kwargs)
        return op.redispatch(context.masked(as_mask(keyset)), *args, **kwargs)

    def redispatch(self, name: str, keyset: KeysetLike, /, *args: Any, **kwargs: Any) -> Any:
        """Call ``name`` with ``keyset`` without the excluded keys; nothing that the caller masked off is added again."""
        return self._overload(name, args, kwargs).redispatch(as_mask(keyset), *args, **kwargs)

    def call_direct(self, name: str, key: KeyLike, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel that is registered for ``name`` under exactly ``key``, whatever the priority.

        Raises ``NoKernelError`` when there is none.
        """
        found = as_key(key)
        entry = self._overload(name, args, kwargs)._entry
        registration = entry.newest(found)
        if registration is None or registration.is_fallthrough:
            raise NoKernelError(
                f"{entry.name} has no kernel registered under {found.label}",
                hint=f"kernels are registered under {kernel_keys(entry)}",
            )
        # Not explicit: priority is bypassed, and nothing is masked off for the calls that a composite makes.
        slot = Slot("kernel", registration, entry.covered(found, registration))
        chosen = Resolution(entry, found.value, found, slot, found.value, explicit=False)
        return chosen.run_with_arguments(args, kwargs)

    def _overload(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        found = self.find(name)
        return found.resolve(args, kwargs) if hasattr(found, "resolve") else found


def _overwriting(entry: OperatorEntry, older: Registration, new: Registration) -> str:
    served = "" if new.when is None else f" with {new.when[0]}={new.when[1]!r}"
    return f"{entry.name} has a kernel for {new.key.label}{served} from {older.origin}; now comes one from {new.origin}"


def _level(wanted: str | Level | None) -> Level:
    """Return the level of what is registered now: no higher than that of the transaction under way."""
    highest = transactions.level()
    return highest if wanted is None else min(Level.of(wanted), highest)


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


@on_change
def forget_everywhere() -> None:
    """Empty the tables of every operator of every registry."""
    with _registries_lock:
        found = list(_registries)
    for each in found:
        each.forget_all()


registry: Final = Registry()


def the_registry(given: Registry | None) -> Registry:
    """Return the registry that a caller names, or the process's own; raises ``ArgumentError`` for what is none."""
    if given is None:
        return registry
    if not isinstance(given, Registry):
        raise ArgumentError(f"expected a Registry or None, not {type(given).__name__}")
    return given
