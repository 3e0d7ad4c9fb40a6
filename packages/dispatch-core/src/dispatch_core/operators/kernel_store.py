"""Kernels of a registry's operators: how they are registered and taken back, and which of several is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from ..arrays.protocols import Kernel
from ..bookkeeping import transactions
from ..bookkeeping.levels import Level
from ..bookkeeping.origins import Origin
from ..calls.overriding import note_overrides
from ..errors import ArgumentError, OverwriteWarning, RegistrationError, SchemaError, short_repr
from ..keys.keyset import KeyLike, as_key
from ..keys.table import DispatchKey
from ..schema.model import FunctionSchema, OperatorName
from .candidates import GiveWay, ShortWay
from .entry import NO_TAGS, OperatorEntry
from .operator_index import OperatorIndex, parse_name, warn_of_unknown
from .overloads import describe
from .registration import (
    KernelFactory,
    Registration,
    Registrations,
    caller_origin,
    fallthrough_kernel,
    insert_by_level,
    next_number,
)

if TYPE_CHECKING:

    class RegistrationOptions(TypedDict, total=False):
        """The options of a registration, which `Registration` has as fields."""

        with_keyset: bool
        when: tuple[str, Any] | None
        boxed: bool
        is_short: bool


_Offer = TypeVar("_Offer", GiveWay, ShortWay)


class KernelStore(OperatorIndex):
    """The operators of a registry, and the schemas and kernels that are registered for them."""

    def __init__(self) -> None:
        super().__init__()
        #: The active fallback of each key, and all of them.
        self.fallbacks: dict[DispatchKey, Registration] = {}
        self._fallbacks: dict[DispatchKey, Registrations] = {}
        #: operator → its candidates beside those of its slots, the newest first; see `candidates`.
        self.offers: dict[str, tuple[GiveWay | ShortWay, ...]] = {}
        #: operator → those whose candidates depend on its registrations.
        self._dependents: dict[str, frozenset[str]] = {}
        #: Whether others than backends and libraries have ever registered something.
        self.is_changed = False

    def note_level(self, level: Level) -> None:
        """Note that something of a level is about to be registered; short ways are found again at the first above theirs."""
        if level > Level.BACKEND and not self.is_changed:
            self.is_changed = True
            self.invalidate_all()

    def register_schema(self, name: str, schema: str | FunctionSchema, *, tags: tuple[str, ...] = ()) -> None:
        """Register the schema of the operator ``name``; the text may leave the namespace out.

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
            entry = self._entry(parsed)
            if entry.schema is not None:
                raise RegistrationError(
                    f"{entry.name} is defined already, at {entry.origin}; the second definition is at {origin}",
                    hint="define an operator once; register kernels for it with impl",
                )
            entry.schema, entry.tags, entry.origin = made, frozenset(tags) if tags else NO_TAGS, origin
            self._reset(entry)
        transactions.on_rollback(lambda: self.remove_schema(entry, made))
        return entry

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
        """Invalidate the tables and overloads that were made from an operator's schema."""
        entry.invalidate()
        if entry._op is not None:
            describe(entry._op)
        if self._ops is not None:
            self._ops.invalidate(entry.operator_name.packet)

    def register_kernel(
        self,
        name: str,
        key: KeyLike,
        fn: Kernel | KernelFactory,
        *,
        with_keyset: bool = False,
        when: tuple[str, Any] | None = None,
        allow_override: bool | None = None,
        level: str | Level | None = None,
    ) -> Registration:
        """Register ``fn`` as the kernel of operator ``name`` under ``key``.

        An unknown name makes an operator without schema, whose arguments are not checked; where an operator library has
        operators of much the same name, an ``UnknownOperatorWarning`` names them.
        ``with_keyset`` puts the effective keyset first. ``when=("alpha", 1)`` registers a specialized kernel, which serves
        calls with that value and does not receive the argument; a general kernel that is registered after it hides it.
        Registering again replaces the kernel with an ``OverwriteWarning``; ``allow_override=True`` says that this is meant,
        and False that it must not be. Of several kernels the one of the highest ``level`` is active, and within a level the
        newest: "program" is above "backend", which is the level of a backend's registrations while it loads, and of no
        others. Raises ``ArgumentError`` when ``fn`` is not callable, ``RegistrationError`` where ``allow_override`` forbids
        to replace another kernel, or ``when`` names no argument.
        """
        parsed, place = parse_name(name), as_key(key)
        return self.add_kernel(parsed, place, fn, allow_override, level, with_keyset=with_keyset, when=when)[1]

    def add_kernel(
        self,
        name: OperatorName,
        key: DispatchKey,
        fn: Kernel | KernelFactory,
        allow_override: bool | None,
        level: str | Level | None,
        origin: Origin | None = None,
        **options: Unpack[RegistrationOptions],
    ) -> tuple[OperatorEntry | str, Registration]:
        """Do as ``register_kernel`` and return the operator's entry, too, or its name where it is only announced."""
        is_meant = allow_override is True
        registration = make_registration("kernel", name, key, fn, level, origin, is_meant=is_meant, **options)
        full = str(name)
        self.note_level(registration.level)
        if self._lazy.keep_waiting(full, registration) or (
            self._load_library(name) and self._lazy.keep_waiting(full, registration)
        ):
            transactions.on_rollback(lambda: self.remove_kernel(full, registration), (full, registration))
            return full, registration
        self._load_siblings(name)
        with self.lock:
            entry = self._entry(name)
            try:
                self._check_registration(entry, registration, allow_override=allow_override)
                if entry.schema is None and self.is_process:
                    warn_of_unknown(entry, registration)
            except BaseException:
                self._drop_if_empty(entry)
                raise
            self._put(entry, registration)
        transactions.on_rollback(lambda: self.remove_kernel(entry, registration), (entry, registration))
        return entry, registration

    def register_fallthrough(self, name: str, key: KeyLike) -> Registration:
        """Register a fallthrough: the operator ``name`` passes ``key`` over."""
        return self.register_kernel(name, key, fallthrough_kernel)

    def register_fallback(
        self,
        key: KeyLike,
        fn: Kernel | KernelFactory,
        *,
        with_keyset: bool = False,
        level: str | Level | None = None,
    ) -> Registration:
        """Register the fallback of ``key``, for every operator without a kernel there: ``fn(op, *args, **kwargs)``.

        Raises ``ArgumentError`` when ``fn`` is not callable, ``RegistrationError`` for an alias key, or when the key has a
        fallback of the same level; that of the highest level is active.
        """
        found = as_key(key)
        options: RegistrationOptions = {"with_keyset": with_keyset, "boxed": fn is not fallthrough_kernel}
        registration = make_registration("fallback", found.label, found, fn, level, **options)
        self.note_level(registration.level)
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
            self._fallbacks[found] = stack = insert_by_level(held, registration)
            self.fallbacks[found] = stack[0]
            self.invalidate_all()
        transactions.on_rollback(lambda: self.remove_fallback(registration), (None, registration))
        return registration

    def ensure_fallback(self, key: DispatchKey, fn: Kernel | KernelFactory, *, with_keyset: bool = False) -> None:
        """Register a layer's fallback for good, unless its key has one; not as part of a transaction under way."""
        with self.lock:
            if key not in self.fallbacks:
                transactions.run_outside(lambda: self.register_fallback(key, fn, with_keyset=with_keyset))

    def give_way(self, name: str, to: str, fn: Kernel, *, autograd: bool = False) -> tuple[OperatorEntry, GiveWay]:
        """Register ``fn``, which calls ``to``, for the operator ``name`` where a kernel of ``to`` is of a higher level.

        ``fn`` is a composite, and sees the caller's arguments. With ``autograd`` that holds under Autograd keys too, as a
        caller who writes the number means ``to`` itself; see `GiveWay`.
        """
        registration = make_registration("kernel", name, DispatchKey.CompositeExplicitAutograd, fn, None)
        self.note_level(registration.level)
        self._lazy.define(parse_name(name).packet)
        with self.lock:
            entry = self._entry(parse_name(name))
        return entry, self.offer(entry.name, GiveWay(str(parse_name(to)), registration, autograd))

    def offer(self, name: str, made: _Offer) -> _Offer:
        """Register a candidate beside those of an operator's slots; the operator need not be defined, nor is it for that."""
        with self.lock:
            self.put_offer(name, made)
            self._invalidate(name)
        transactions.on_rollback(lambda: self.remove_offer(name, made))
        return made

    def put_offer(self, name: str, made: GiveWay | ShortWay) -> None:
        """Store a candidate beside those of an operator's slots; the lock is held, and the operator's tables are empty."""
        self.offers[name] = (made, *self.offers.get(name, ()))
        for part in made.depends_on:
            self._dependents[part] = self._dependents.get(part, frozenset()) | {name}

    def remove_offer(self, name: str, made: GiveWay | ShortWay) -> None:
        """Take back a short way or a registration of `give_way`; taking it back twice is harmless."""
        with self.lock:
            left = tuple(each for each in self.offers.pop(name, ()) if each is not made)
            if left:
                self.offers[name] = left
            self._invalidate(name)

    def waits_below(self, name: str, short: Registration, mask: int) -> bool:
        """Return whether an operator need not be defined to know that its kernels do not hide a short way."""
        return not self.is_changed and self._lazy.waits_below(name, short, mask)

    def invalidate_dependents(self, part: str) -> None:
        """Empty the tables of the operators whose candidates depend on an operator's registrations."""
        for name in self._dependents.get(part, ()):
            self._invalidate(name)

    def _invalidate(self, name: str) -> None:
        entry = self._entries.get(name)
        if entry is not None:
            entry.invalidate()

    def _check_registration(self, entry: OperatorEntry, new: Registration, *, allow_override: bool | None) -> None:
        """Refuse or report a registration that takes another one's place."""
        if new.when is not None:
            known = () if entry.schema is None else tuple(argument.name for argument in entry.schema.arguments)
            if new.when[0] not in known:
                raise RegistrationError(
                    f"{entry.name}: a specialized kernel is registered for argument {new.when[0]!r}, which the schema lacks",
                    hint=f"its arguments are {', '.join(known) or 'unknown, because it has no schema'}",
                )
        rivals = entry.registrations(new.key)
        if new.when is not None:
            rivals = tuple(found for found in entry.specialized_kernels(new.key) if found.when == new.when)
        elif not rivals:
            # Without a general kernel beside them, specialized ones would be hidden without a word.
            rivals = tuple(found for found in entry.specialized_kernels(new.key) if new.is_above(found))
        if not rivals:
            return
        below, above = (rivals[0], new) if new.is_above(rivals[0]) else (new, rivals[0])
        if above is new and allow_override is False:
            raise RegistrationError(
                _describe_overwriting(entry, below, new), hint="close the library that registered the first"
            )
        if not (new.is_meant or above.is_meant):
            # Reported for the line that registers, however many frames of the core lie above it.
            transactions.warn(_describe_overwriting(entry, below, above), OverwriteWarning, above.origin)

    def _put(self, entry: OperatorEntry, new: Registration) -> None:
        if new.when is not None:
            entry._specialized = {
                **entry._specialized,
                new.key: insert_by_level(entry.specialized_kernels(new.key), new),
            }
        else:
            entry._registrations = {**entry._registrations, new.key: insert_by_level(entry.registrations(new.key), new)}
        entry.invalidate()

    def remove_kernel(self, operator: OperatorEntry | str, registration: Registration) -> None:
        """Take one registration back; the next one for the same key becomes active."""
        with self.lock:
            if isinstance(operator, str) and self._lazy.stop_waiting(operator, registration):
                return
            entry = self._entries.get(operator) if isinstance(operator, str) else operator
            if entry is None:
                return
            for attribute in ("_registrations", "_specialized"):
                held = getattr(entry, attribute)
                left = tuple(found for found in held.get(registration.key, ()) if found is not registration)
                rest = {key: found for key, found in held.items() if key != registration.key}
                setattr(entry, attribute, {**rest, registration.key: left} if left else rest)
            entry.invalidate()
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
            self.invalidate_all()

    def look_for_overrides(self) -> None:
        """Make the callers of all operators again, which look for overriding classes and modes from now on."""
        with self.lock:
            if not note_overrides():
                for entry in list(self._entries.values()):
                    entry.reset_callers()

    def invalidate_all(self) -> None:
        """Empty the tables of every operator."""
        with self.lock:
            for entry in list(self._entries.values()):
                entry.invalidate()


def _describe_overwriting(entry: OperatorEntry, older: Registration, new: Registration) -> str:
    served = "" if new.when is None else f" with {new.when[0]}={new.when[1]!r}"
    return f"{entry.name} has a kernel for {new.key.label}{served} from {older.origin}; now comes one from {new.origin}"


def make_registration(
    kind: str,
    owner: object,
    key: DispatchKey,
    fn: Kernel | KernelFactory,
    level: str | Level | None,
    origin: Origin | None = None,
    *,
    is_meant: bool = False,
    **options: Unpack[RegistrationOptions],
) -> Registration:
    """Return a registration of the wanted level, but of no higher one than that of the transaction under way.

    Raises ``ArgumentError`` when ``fn`` is not callable.
    """
    if not callable(fn) and not isinstance(fn, KernelFactory):
        raise ArgumentError(f"the {kind} for {owner} is not callable: {type(fn).__qualname__}")
    when: object = options.get("when")
    if when is not None and not (isinstance(when, tuple) and len(when) == 2 and isinstance(when[0], str)):
        raise ArgumentError(
            f"when= of the {kind} for {owner} takes an argument's name and its value, not {short_repr(when)}",
            hint='write when=("alpha", 1)',
        )
    highest = transactions.current_level()
    chosen = highest if level is None else min(Level.of(level), highest)
    number, place = next_number(), origin or caller_origin()
    return Registration(key, fn, place, level=chosen, number=number, is_meant=is_meant, **options)
