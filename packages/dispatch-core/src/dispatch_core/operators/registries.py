"""Registries: backends and transactions over registrations, and calls by name; the process has one."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ..arrays import owners
from ..arrays.frontend import refuse_tensors
from ..arrays.types import BackendInfo
from ..bookkeeping import transactions
from ..bookkeeping.changes import on_change
from ..bookkeeping.levels import Level
from ..bookkeeping.origins import Origin
from ..calls import codegen, reference
from ..calls.engine import Engine
from ..errors import ArgumentError, NoKernelError, RegistrationError, short_repr
from ..forks import Order, forkable
from ..keys import context
from ..keys.keyset import KeyLike, KeysetLike, as_key, as_mask
from ..keys.switched_on import included_mask
from ..keys.table import PROFILES, DispatchKey
from ..lazy_text import join_names
from ..schema.check import type_hints
from ..schema.model import FunctionSchema
from ..tracebacks import api_boundary, trim_traceback
from .dispatch_table import Slot
from .entry import OperatorEntry
from .kernel_names import kernel_keys
from .kernel_store import KernelStore
from .overloads import OpOverload

__all__ = ["OperatorEntry", "Registry", "registry"]

_registries: Final[weakref.WeakSet[Registry]] = weakref.WeakSet()
# A WeakSet cannot be read while another thread adds to it.
_registries_lock: Final = forkable(Order.REGISTRY)


class Registry(KernelStore):
    """Operators and their registrations.

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
                f"no profile is named {short_repr(profile)}", hint=f"choose one of {', '.join(PROFILES)}"
            )
        super().__init__()
        self.profile = profile
        self.engine: Engine = reference if interpreted else codegen
        #: Array types of other backends that backends of this registry own here; see `translate_mask`.
        self._claims: dict[type, int] = {}
        #: namespace → where its one DEF library was opened.
        self.definitions: dict[str, Origin] = {}
        #: namespace → the functions that return the docstrings of its operators, or None; the newest is first.
        self.descriptions: dict[str, tuple[Callable[[str, str | None], str | None], ...]] = {}
        #: operator → its ``CustomOpDef``.
        self.custom_ops: dict[str, Any] = {}
        with _registries_lock:
            _registries.add(self)

    def __repr__(self) -> str:
        count = len(self.packet_names())
        whose = " of the process" if self.is_process else ""
        return f"<Registry{whose}: {count:,} operator{'s' * (count != 1)} in {join_names(self.namespaces())}>"

    def add_backend(self, info: BackendInfo) -> DispatchKey:
        """Make a backend's device, key and array types known, to every registry of the process.

        Array types that belong to another backend become its own in this registry alone, unless this is the process's.
        Raises ``RegistrationError`` when one of them is another backend's.
        """
        refuse_tensors(info)
        # Recorded first, so that a rollback, which runs backwards, empties the tables last.
        transactions.on_rollback(invalidate_everywhere)
        key = owners.add_backend(info, None if self.is_process else self._claims)
        invalidate_everywhere()
        return key

    @contextmanager
    def transaction(
        self, *, distribution: tuple[str, str] | None = None, level: str | Level | None = None
    ) -> Iterator[None]:
        """Undo every registration that this thread or task makes in the block when the block raises.

        ``distribution`` (name and version) is whom the registrations belong to. With ``level="backend"`` they rank below
        the program's registrations; a library imported by the program registers its own so.
        """
        with transactions.transaction(distribution=distribution, level=None if level is None else Level.of(level)):
            yield

    def translate_mask(self, mask: int) -> int:
        """Return a call's mask with the key of a type's owner in this registry for that of its owner in the process."""
        for cls, own in self._claims.items():
            theirs = owners.TYPE_MASKS.get(cls, 0)
            if mask & theirs:
                mask = mask & ~theirs | own
        return mask

    # Calls by name.

    @staticmethod
    def restore(name: str) -> object:
        """Return a packet, a namespace, or all operators of the process's registry, by the name in its pickle."""
        ops = registry.ops
        return ops.packet(name) if "::" in name else getattr(ops, name) if name else ops

    def dispatch(self, name: str, /, *args: object, **kwargs: object) -> Any:
        """Call the operator ``name`` with the keys of its arguments and the context's masks.

        A bare name means ``aten``; without an overload, the first that fits the arguments is called. Raises
        ``OperatorNotFoundError``, ``ArgumentError``, ``NoKernelError``, or the kernel's own errors.
        """
        try:
            return self.find(name)(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def dispatch_with_keyset(self, name: str, keyset: KeysetLike, /, *args: object, **kwargs: object) -> Any:
        """Call ``name`` with (``keyset`` with the included keys) without the excluded ones; priority decides."""
        try:
            op = self._overload(name, args, kwargs)
            included_mask()
            return op.redispatch(context.apply_to_mask(as_mask(keyset)), *args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def redispatch(self, name: str, keyset: KeysetLike, /, *args: object, **kwargs: object) -> Any:
        """Call ``name`` with ``keyset`` without the excluded keys; nothing that the caller masked off is added again."""
        try:
            return self._overload(name, args, kwargs).redispatch(as_mask(keyset), *args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    @api_boundary
    def call_direct(self, name: str, key: KeyLike, /, *args: object, **kwargs: object) -> Any:
        """Run the kernel that is registered for ``name`` under exactly ``key``, whatever the priority.

        Raises ``NoKernelError`` when there is none.
        """
        from .resolution import Resolution  # as in `call_tables`: `import dispatch_core` can do without

        found = as_key(key)
        entry = self._overload(name, args, kwargs)._entry
        registration = entry.newest(found.registered_as)
        if registration is None or registration.is_fallthrough:
            raise NoKernelError(
                f"{entry.name} has no kernel registered under {found.label}",
                hint=f"kernels are registered under {kernel_keys(entry)}",
            )
        # Not explicit: priority is bypassed, and nothing is masked off for the calls that a composite makes.
        slot = Slot("kernel", registration, entry.specialized_kernels(found, registration))
        # The call that an alternative declines is one for its device.
        mask = found.value | (found.target or 0)
        chosen = Resolution(entry, mask, found, slot, mask, explicit=False)
        return chosen.run_with_arguments(args, kwargs)

    def _overload(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        found = self.find(name)
        return found.resolve(args, kwargs) if hasattr(found, "resolve") else found


@on_change
def invalidate_everywhere() -> None:
    """Empty the tables of every operator of every registry."""
    with _registries_lock:
        found = list(_registries)
    for each in found:
        each.invalidate_all()


registry: Final[Registry] = Registry()
registry.is_process = True


@type_hints.append
def _hint_at_types(schema: FunctionSchema | None, value: object, values: Sequence[object]) -> str:
    """Return a hint at the types that the operator of a schema takes; see `kernel_names.hint_at_types`."""
    from .kernel_names import hint_at_types  # only errors need it

    with _registries_lock:
        found = list(_registries)
    entries = (None if schema is None else each._entries.get(str(schema.name)) for each in found)
    return hint_at_types(
        next((each for each in entries if each is not None and each.schema is schema), None), value, values
    )


def the_registry(given: Registry | None) -> Registry:
    """Return the registry that a caller names, or the process's own; raises ``ArgumentError`` for any other object."""
    if given is None:
        return registry
    if not isinstance(given, Registry):
        raise ArgumentError(f"expected a Registry or None, not {type(given).__name__}")
    return given


class _Overloads:
    """The names that pickle looks up for an overload: a function's qualified name, one attribute after the other.

    That name is the schema, a new line, and the operator's name, which is where a search ends; `describe` makes it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> OpOverload | _Overloads:
        if name.startswith("__"):
            raise AttributeError(name)
        return _overload(f"{self._text}.{name}")


def _overload(text: str) -> OpOverload | _Overloads:
    name = text.rpartition("\n")[2]
    if "\n" not in text or text.partition("(")[0] != name:
        return _Overloads(text)
    return registry.get(name).op


def __getattr__(name: str) -> OpOverload | _Overloads:
    if "::" not in name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _overload(name)
