"""Libraries: how operators and kernels are registered, and taken back together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar, overload

from ..arrays.protocols import Kernel
from ..bookkeeping.transactions import current_level, on_rollback
from ..errors import ArgumentError, RegistrationError, SchemaError, short_repr
from ..keys.keyset import KeyLike, as_key
from ..keys.table import DispatchKey
from ..keys.type_sets import as_place
from ..schema.model import FunctionSchema
from ..tracebacks import api_boundary
from .candidates import GradientFields, ShortGradient, ShortWay
from .kernel_store import make_registration
from .lazy_definitions import Announcement, LazyDefinition, LazyKernels
from .operator_index import parse_name
from .overloads import OpOverload, is_overload
from .registration import KernelFactory, caller_origin, next_number
from .registries import Registry, the_registry

_Kernel = TypeVar("_Kernel", bound=Kernel | KernelFactory)
_KINDS: Final = ("DEF", "IMPL", "FRAGMENT")
#: Namespaces that torch keeps for itself; operators in them could not be told from its own.
_RESERVED: Final = frozenset({"prim"})


class Library:
    """A handle to one namespace, through which operators are defined and kernels registered (source: ``torch.library``).

    ``kind`` is "DEF" (one per namespace), "FRAGMENT" (any number; may define too) or "IMPL" (kernels only). ``dispatch_key``
    is the key of kernels whose registration names none. Closing it takes back all registrations made through it. Kernels
    that the program registers win over those that a backend registers while it loads, whichever come first.
    Raises ``RegistrationError`` for an unknown kind, a second DEF, or a namespace that is reserved.

    >>> from dispatch_core import Registry
    >>> r = Registry()
    >>> with Library("demo", "DEF", registry=r) as library:
    ...     _ = library.define("twice(int x) -> int")
    ...     _ = library.impl("twice", lambda x: 2 * x, "CompositeImplicitAutograd")
    ...     r.ops.demo.twice(4)
    8
    """

    @api_boundary
    def __init__(
        self,
        ns: str,
        kind: Literal["DEF", "IMPL", "FRAGMENT"],
        dispatch_key: KeyLike = "",
        *,
        registry: Registry | None = None,
    ) -> None:
        if not isinstance(kind, str) or kind not in _KINDS:
            raise RegistrationError(
                f"{short_repr(kind)} is no kind of library", hint=f"choose one of {', '.join(_KINDS)}"
            )
        self.registry = the_registry(registry)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = None if dispatch_key == "" else as_key(dispatch_key)
        self.origin = caller_origin()
        #: Its registrations are of the level at which it was opened.
        self.level = current_level()
        self._undo: list[Callable[[], None]] = []
        self._closed = False
        if isinstance(ns, str) and ns == "_":
            if kind != "IMPL":
                raise RegistrationError("namespace '_' represents every operator and takes fallbacks only, kind IMPL")
        elif not (isinstance(ns, str) and ns.isascii() and ns.isidentifier()):
            raise RegistrationError(f"{short_repr(ns)} is not a namespace", hint="a namespace is an identifier")
        elif ns in _RESERVED and kind != "IMPL":
            raise RegistrationError(f"namespace {ns!r} is reserved", hint="choose another name")
        if kind == "DEF":
            with self.registry.lock:
                if (first := self.registry.definitions.get(ns)) is not None:
                    raise RegistrationError(
                        f"namespace {ns!r} has a DEF library already, opened at {first};"
                        f" the second is opened at {self.origin}",
                        hint="open a FRAGMENT to define more operators in it",
                    )
                self.registry.definitions[ns] = self.origin
            self._keep(self._release_namespace)
            on_rollback(self._release_namespace)

    @api_boundary
    def define(self, schema: str | FunctionSchema, *, tags: str | Iterable[str] = ()) -> str:
        """Define an operator by its schema and return its name, ``namespace::name.overload``.

        Raises ``SchemaError`` for malformed text or another namespace, ``RegistrationError`` for a name that is defined.
        """
        self._check_can_define(str(schema).partition("(")[0])
        parsed = FunctionSchema.parse(schema) if isinstance(schema, str) else schema
        if not isinstance(parsed, FunctionSchema):
            raise ArgumentError(f"define() takes a schema as text or a FunctionSchema, not {type(schema).__name__}")
        if parsed.name.namespace not in (None, self.ns):
            raise SchemaError(f"{parsed.name} is in another namespace than its library, {self.ns!r}")
        parsed = parsed.with_namespace(self.ns)
        name = str(parsed.name)
        entry = self.registry.define(name, parsed, (tags,) if isinstance(tags, str) else tuple(tags))
        self._keep(lambda: self.registry.remove_schema(entry, parsed))
        return name

    @api_boundary
    def define_lazily(self, names: Iterable[str], load: Callable[[str], LazyDefinition]) -> None:
        """Announce operators by their names with overload, each of which is defined when it is first named.

        ``load(name)`` then returns the operator's `LazyDefinition`; it may import modules, may be called more than
        once, and must not name the operator itself. All announced overloads of a name are defined together.
        Raises ``RegistrationError`` for a name that is defined or announced already.

        >>> from dispatch_core import LazyDefinition, Registry
        >>> r = Registry()
        >>> def load(name):
        ...     print("defining", name)
        ...     return LazyDefinition(f"{name}(int x) -> int", kernels={"CompositeImplicitAutograd": lambda x: 2 * x})
        >>> library = Library("demo", "DEF", registry=r)
        >>> library.define_lazily(["twice", "double"], load)
        >>> dir(r.ops.demo)
        ['double', 'twice']
        >>> r.ops.demo.twice(4)
        defining twice
        8
        """
        names = list(names)
        self._check_can_define(names[0] if names else "")
        made = Announcement(self.ns, load, caller_origin(), self.level)
        on_rollback(lambda: self.registry._lazy.withdraw(made))
        self._keep(lambda: self.registry._lazy.withdraw(made))
        self.registry._lazy.announce(made, names)

    @api_boundary
    def document(self, describe: Callable[[str, str | None], str | None]) -> None:
        """Document the operators of the namespace: ``help`` shows the text that ``describe`` returns.

        ``describe(name, overload)`` is asked for ``namespace::name`` when its docstring is read, for one overload of it or,
        with None, for all. Where it returns None, another library of the namespace is asked, and at last the schemas are
        shown.

        >>> from dispatch_core import Registry
        >>> r = Registry()
        >>> library = Library("demo", "DEF", registry=r)
        >>> _ = library.define("twice(int x) -> int")
        >>> library.document(lambda name, overload: f"Return twice the number: {name}.")
        >>> r.ops.demo.twice.__doc__
        'Return twice the number: demo::twice.'
        """
        self._check_can_define("")
        if not callable(describe):
            raise ArgumentError(f"document() takes a function, not {type(describe).__name__}")
        descriptions, ns, lock = self.registry.descriptions, self.ns, self.registry.lock

        def withdraw() -> None:
            with lock:
                descriptions[ns] = tuple(each for each in descriptions.get(ns, ()) if each is not describe)

        with lock:
            descriptions[ns] = (describe, *descriptions.get(ns, ()))
        self._keep(withdraw)
        on_rollback(withdraw)

    @api_boundary
    def impl_lazily(self, load: Callable[[str], Kernel | KernelFactory | None], key: KeyLike = "") -> None:
        """Register kernels for all operators that are announced in the namespace, each when its operator is defined.

        ``load(name)`` returns the kernel under ``key``, the library's own by default, or None for an operator without one.
        It is called at once for those that are defined already. Raises ``RegistrationError`` where there is no key.
        """
        self._open()
        chosen = self._key(key)
        if chosen is None:
            raise RegistrationError("impl_lazily() needs a dispatch key", hint="name one here, or for the library")
        lazy = self.registry._lazy
        made = LazyKernels(self.ns, chosen, load, caller_origin(), self.level, next_number())
        on_rollback(lambda: lazy.remove_kernels(made), (self.ns, made))
        self._keep(lambda: lazy.remove_kernels(made))
        lazy.add_kernels(made)

    @overload
    def impl(
        self,
        name: str | OpOverload,
        fn: _Kernel,
        key: KeyLike = ...,
        *,
        with_keyset: bool = ...,
        when: tuple[str, Any] | None = ...,
        types: tuple[type, ...] | None = ...,
        allow_override: bool | None = ...,
    ) -> _Kernel: ...
    @overload
    def impl(
        self,
        name: str | OpOverload,
        fn: None = None,
        key: KeyLike = ...,
        *,
        with_keyset: bool = ...,
        when: tuple[str, Any] | None = ...,
        types: tuple[type, ...] | None = ...,
        allow_override: bool | None = ...,
    ) -> Callable[[_Kernel], _Kernel]: ...
    @api_boundary
    def impl(
        self,
        name: str | OpOverload,
        fn: Kernel | KernelFactory | None = None,
        key: KeyLike = "",
        *,
        with_keyset: bool = False,
        when: tuple[str, Any] | None = None,
        types: tuple[type, ...] | None = None,
        allow_override: bool | None = None,
    ) -> object:
        """Register a kernel; as a decorator where ``fn`` is left out.

        ``key`` defaults to the library's, else to CompositeImplicitAutograd. See ``Registry.register_kernel`` for the rest.
        Instead of a key, ``types`` names classes of arrays: the kernel serves calls whose arrays are all of them, of
        several devices too, where no device has a kernel of its own for the call; of several such kernels the one whose
        types lie within the others' does. Raises ``RegistrationError`` for an operator of another namespace, a key other
        than the library's own, or types that are no classes.

        >>> import dispatch_core as dc
        >>> class Circle: ...
        >>> class Square: ...
        >>> library = dc.Library("shapes", "DEF")
        >>> _ = library.define("meet(Tensor a, Tensor b) -> str")
        >>> _ = library.impl("meet", lambda a, b: f"{type(a).__name__} and {type(b).__name__}", types=(Circle, Square))
        >>> types = [dc.ArrayType(Circle), dc.ArrayType(Square)]
        >>> devices = [dc.register_backend(dc.BackendInfo(f"device{i}", array_types=(types[i],)), {}) for i in (0, 1)]
        >>> dc.ops.shapes.meet(Circle(), Square())
        'Circle and Square'
        >>> for each in (*devices, library):
        ...     each.close()
        """
        self._open()
        if fn is None:
            options: Any = {"with_keyset": with_keyset, "when": when, "types": types, "allow_override": allow_override}
            return lambda made: (self.impl(name, made, key, **options), made)[1]
        full: Any = name.name if is_overload(name) else name
        full = full if "::" in full else f"{self.ns}::{full}"
        parsed = parse_name(full)
        if parsed.namespace != self.ns:
            raise RegistrationError(
                f"library {self.ns!r} cannot register a kernel for {full}", hint="open a library for that namespace"
            )
        if types is None:
            chosen = self._key(key) or as_key("CompositeImplicitAutograd")
        else:
            chosen = as_place(types, full, beside=key or when or self.dispatch_key)
        entry, registration = self.registry.add_kernel(
            parsed, chosen, fn, allow_override, self.level, with_keyset=with_keyset, when=when
        )
        self._keep(lambda: self.registry.remove_kernel(entry, registration))
        return fn

    @api_boundary
    def fallback(self, fn: Kernel | KernelFactory, key: KeyLike = "", *, with_keyset: bool = False) -> None:
        """Register the fallback of ``key``, for every operator without a kernel there: ``fn(op, *args, **kwargs)``.

        Raises ``RegistrationError`` unless the library's namespace is ``_``.
        """
        self._open()
        if self.ns != "_":
            raise RegistrationError(
                f"library {self.ns!r} cannot register a fallback",
                hint="fallbacks serve every operator: Library('_', 'IMPL')",
            )
        chosen = self._key(key)
        if chosen is None:
            raise RegistrationError("a fallback needs a dispatch key")
        registration = self.registry.register_fallback(chosen, fn, with_keyset=with_keyset, level=self.level)
        self._keep(lambda: self.registry.remove_fallback(registration))

    def give_way(self, name: str, to: str, fn: Kernel, *, autograd: bool = False) -> None:
        """Register ``fn``, which calls ``to``, where a kernel of ``to`` is of a higher level than the operator's own.

        See ``Registry.give_way``. Both names are of the library's namespace.
        """
        self._open()
        entry, way = self.registry.give_way(f"{self.ns}::{name}", f"{self.ns}::{to}", fn, autograd=autograd)
        self._keep(lambda: self.registry.remove_offer(entry.name, way))

    @api_boundary
    def short_way(
        self,
        name: str,
        fn: Kernel,
        key: KeyLike = "",
        *,
        parts: Sequence[str] = (),
        uses: Sequence[str] = (),
        autograd: bool = False,
        itself: bool = False,
        gradient: GradientFields | None = None,
        to: str = "",
        arguments: Callable[..., Any] | None = None,
    ) -> None:
        """Register ``fn`` for plain calls of an operator on a device's arrays, instead of a composite.

        ``fn`` takes and returns the same as a kernel under ``key``. Where it returns ``NotImplemented`` or
        raises, before it has written to anything, the call goes the usual way. It is not used under masks of the context
        (profiles, traces, pipelines), nor where a kernel that is not the backend's own is registered for the operator or
        for one of ``parts``: the operators that the usual way calls for such arguments, all of them. A way may be made of
        the kernels of some of these, ``uses``, which need not be named twice: ``fn`` takes them and returns the way, and
        takes an alternative's kernels where these are on. With ``autograd``
        it serves tensors with a history, too: for operators whose results have none. With ``itself`` a result that is
        the array of the argument it belongs to represents that argument, and any other is a copy. ``gradient`` serves calls
        that are recorded for backward: the fields of a `ShortGradient`. Calls with a history go ``to`` one of the parts at
        once, with their own
        arguments, or with those after the first that ``arguments`` makes of the arrays and values of the call, as a tuple;
        all calls do where it is ``fn``, too. Raises ``RegistrationError`` where there is no key.

        >>> from dispatch_core import DispatchKey, Registry
        >>> class Text(str):
        ...     _dispatch_mask = DispatchKey.CPU.value
        >>> r = Registry()
        >>> library = Library("demo", "DEF", registry=r)
        >>> _ = library.define("first(Tensor self) -> str")
        >>> _ = library.impl("first", lambda self: "the usual way", "CompositeImplicitAutograd")
        >>> library.short_way("first", lambda self: self[0], "CPU")
        >>> r.ops.demo.first(Text("abc")), r.ops.demo.first(Text(""))
        ('a', 'the usual way')
        """
        self._open()
        chosen = self._key(key)
        if chosen is None:
            raise RegistrationError("a short way needs the key of a device")
        for parameter, names in (("parts", parts), ("uses", uses)):
            if isinstance(names, str):
                raise RegistrationError(
                    f"{parameter}= of the short way for {name} takes names in a list, not the text {names!r}",
                    hint=f"write {parameter}=[{names!r}]",
                )
        full, made = self._full_name(name), make_registration("short way", name, chosen, fn, None, is_short=True)
        used = tuple(map(self._full_name, uses))
        named = *map(self._full_name, parts), *used
        found = gradient and ShortGradient(*gradient[:3], tuple(map(self._full_name, gradient[3])))
        way = ShortWay(made, named, used, autograd, itself, found, to and self._full_name(to), arguments)
        self.registry.offer(full, way)
        self._keep(lambda: self.registry.remove_offer(full, way))

    def _full_name(self, name: str) -> str:
        """Return a name with its namespace, which is the library's unless it is named."""
        return str(parse_name(name if "::" in name else f"{self.ns}::{name}"))

    def close(self) -> None:
        """Take back everything that was registered through this library, newest first. Closing twice is harmless."""
        undo, self._undo = self._undo, []
        self._closed = True
        for step in reversed(undo):
            step()

    def _key(self, key: KeyLike) -> DispatchKey | None:
        """Return the key to register under: the one that is named, else the library's; the two may not differ."""
        own = self.dispatch_key
        if key == "":
            return own
        chosen = as_key(key)
        if own is not None and chosen is not own:
            raise RegistrationError(
                f"library {self.ns!r} is for the key {own.name} and cannot register under {chosen.name},"
                " which is inconsistent with the dispatch key of the library",
                hint="open a library without a dispatch key, or one for that key",
            )
        return chosen

    def _release_namespace(self) -> None:
        """Allow another DEF library of the namespace, unless one was opened since this one gave it back."""
        with self.registry.lock:
            if self.registry.definitions.get(self.ns) is self.origin:
                del self.registry.definitions[self.ns]

    def _keep(self, undo: Callable[[], None]) -> None:
        self._undo.append(undo)

    def _check_can_define(self, name: str) -> None:
        self._open()
        if self.kind == "IMPL":
            raise RegistrationError(
                f"library {self.ns!r} is of kind IMPL and cannot define {name!r}", hint="open it as DEF or FRAGMENT"
            )

    def _open(self) -> None:
        if self._closed:
            raise RegistrationError(f"library {self.ns!r}, opened at {self.origin}, is closed", hint="open a new one")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Library {self.ns!r} {self.kind}, {len(self._undo)} registrations>"
