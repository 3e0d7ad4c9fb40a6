"""Libraries in torch's manner: a face over the dispatcher's own (source: ``torch.library.Library``)."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import dispatch_core as dc

from .autograd_kernels import is_autograd_key, make_plain_kernel
from .fakes import register_fake_kernel, register_waiting
from .kernels import make_fallback, make_kernel
from .tag_rules import check_tagged_schema, check_types
from .tags import list_tags
from .torch_errors import as_torch_error

__all__ = ["Library", "is_nameless", "keep", "scoped_library"]

_KINDS: Final = ("IMPL", "DEF", "FRAGMENT")
#: Operator and key → how many kernels libraries have registered there: those that ``allow_override=False`` protects.
_registered: Final[dict[tuple[str, str], int]] = {}
#: Libraries that no program holds, and whose registrations stay.
_kept: Final[list[Library]] = []
_META: Final = "Meta"


class Library:
    """A handle to a namespace, through which operators are defined and kernels registered, as torch's programs do.

    ``kind`` is "DEF" (one per namespace), "FRAGMENT" (any number) or "IMPL" (kernels only). Kernels take tensors under every
    key. The registrations are the dispatcher's own: `dispatch_core.ops` and `torchlike.ops` have the operators, and they are
    taken back when the library is, as torch takes them back (source: ``torch.library.Library``).

    Raises ``ValueError`` for an unknown kind or a namespace that is reserved, ``RuntimeError`` for a second DEF.

    >>> import torchlike
    >>> library = Library("doctest_library", "DEF")
    >>> library.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> library.impl("twice", lambda x: 2 * x, "CPU")
    >>> torchlike.ops.doctest_library.twice(torchlike.ones(2))
    tensor([2., 2.])
    """

    #: The dispatcher's library; None once this one was destroyed.
    m: dc.Library | None

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        with as_torch_error():
            made = self.m = dc.Library(ns, kind, dispatch_key)  # type: ignore[arg-type]  # it is one of the kinds
        self._op_defs: set[str] = set()
        self._op_impls: list[tuple[str, str]] = []
        #: Functions that take back what is registered elsewhere than in the dispatcher.
        self._undo: list[Callable[[], object]] = []
        self._finalizer = weakref.finalize(self, _close, made, self._undo, self._op_impls)
        self._finalizer.atexit = False

    def define(self, schema: str, alias_analysis: str = "", *, tags: str | Iterable[str] = ()) -> str:
        """Define an operator by its schema, ``name.overload(Tensor x) -> Tensor``, and return its name.

        Raises ``RuntimeError`` for malformed text, a name that is defined already, or a library of kind IMPL; ``ValueError``
        for a schema that does not fit its tags.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        library, names = self._open(), list_tags(tags)
        with as_torch_error():
            check_tagged_schema(schema, names)
            parsed = dc.FunctionSchema.parse(schema)
            check_types(parsed)
            full = library.define(parsed, tags=names)
        self._op_defs.add(full)
        # Where no formula is registered the parts of a kernel are differentiated, as torch's own fallback does.
        _let_pass(full)
        register_waiting(full)
        self._undo.append(lambda: _stop_passing(full))
        return full.partition("::")[2]

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any] | dc.KernelFactory,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel, a function of tensors, under a dispatch key, or the library's own.

        Without either the key is CompositeImplicitAutograd. A kernel that takes another one's place gives an
        ``OverwriteWarning``; with ``allow_override=False`` it is a ``RuntimeError`` where a library has registered the
        other. ``with_keyset`` hands the kernel the call's keyset first. Raises ``TypeError`` unless ``fn`` is callable,
        ``RuntimeError`` for an unknown key.
        """
        if not callable(fn) and not isinstance(fn, dc.KernelFactory):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        library, name = self._open(), self._resolve_op_name(op_name)
        key = str(getattr(dispatch_key, "name", dispatch_key) or self.dispatch_key or "")
        bare = name.rpartition("::")[2]
        place = (f"{self.ns}::{bare}", key)
        if not allow_override and _registered.get(place):
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{bare}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        chosen = key or "CompositeImplicitAutograd"
        with as_torch_error():
            if chosen == _META:
                _refuse_composite(place[0], name)
            if chosen == "Autograd" and _stop_passing(place[0]):
                self._undo.append(lambda: _let_pass(place[0]))
            if chosen == _META and callable(fn) and not with_keyset and _is_defined(place[0]):
                self._undo.append(register_fake_kernel(library, place[0], fn, is_listed=False))
            else:
                library.impl(name, make_kernel(fn), chosen, with_keyset=with_keyset)
            if callable(fn) and fn is not dc.fallthrough_kernel and is_autograd_key(chosen):
                self._serve_plain_tensors(place[0], fn)
        _registered[place] = _registered.get(place, 0) + 1
        self._op_impls.append(place)

    def _serve_plain_tensors(self, name: str, fn: Callable[..., Any]) -> None:
        """Make a kernel under Autograd serve tensors that require no grad; see Note [Autograd of plain tensors]."""
        entry = dc.registry.find_entry(name)
        if entry is None or entry.schema is None or not entry.schema.tensor_arguments:
            return
        held = entry.registrations(dc.DispatchKey.BackendSelect)
        if not held or held[0].is_meant:
            self._open().impl(name, make_plain_kernel(fn), "BackendSelect", allow_override=True)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register ``fn(op, *args, **kwargs)`` as the fallback of a key, in a library of the namespace ``_``."""
        key = dispatch_key or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(
                "Fallback can only be registered using library fragment on the global namespace "
                f'"_" but it is {self.ns}'
            )
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        with as_torch_error():
            self._open().fallback(make_fallback(fn, with_keyset=with_keyset), key, with_keyset=with_keyset)

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = True
    ) -> None:
        with as_torch_error():
            name = f"{self.ns}::{op_name}"
            self._undo.append(register_fake_kernel(self._open(), name, fn, allow_override=allow_override))

    def _register_torch_dispatch_rule(self, op_name: str, torch_dispatch_class: type, fn: Callable[..., Any]) -> None:
        from ..utils.dispatch_rules import add_rule

        self._undo.append(add_rule(f"{self.ns}::{op_name}", torch_dispatch_class, fn))

    def _resolve_op_name(self, op_name: Any) -> str:
        """Return an operator's name, given by itself or by the overload."""
        if isinstance(op_name, str):
            return op_name
        name = getattr(op_name, "name", None)
        if not isinstance(name, str):
            raise RuntimeError(
                f"impl should be passed either a name or an OpOverload object as the first argument, got {type(op_name)}"
            )
        return name

    def _open(self) -> dc.Library:
        if self.m is None:
            raise AssertionError("Library object has been destroyed")
        return self.m

    def _destroy(self) -> None:
        """Take back everything that was registered through this library."""
        self.m = None
        self._finalizer()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"


def _close(library: dc.Library, undo: list[Callable[[], object]], places: list[tuple[str, str]]) -> None:
    library.close()
    for step in reversed(undo):
        step()
    for place in places:
        left = _registered.get(place, 0) - 1
        if left > 0:
            _registered[place] = left
        else:
            _registered.pop(place, None)


#: Operator → the library that lets calls pass its Autograd keys while no formula is registered.
_passing: Final[dict[str, dc.Library]] = {}


def _let_pass(name: str) -> None:
    """Register that calls pass the Autograd keys of an operator, to the kernels of tensors below."""
    if _is_defined(name):
        passing = _passing[name] = dc.Library(name.partition("::")[0], "IMPL")
        passing.impl(name, dc.fallthrough_kernel, "Autograd")


def _stop_passing(name: str) -> bool:
    """Take the passing back, as a kernel for Autograd comes or the operator goes; return whether there was one."""
    passing = _passing.pop(name, None)
    if passing is not None:
        passing.close()
    return passing is not None


def _is_defined(name: str) -> bool:
    entry = dc.registry.find_entry(name)
    return entry is not None and entry.schema is not None


def _refuse_composite(full: str, name: str) -> None:
    """Refuse a kernel under Meta for an operator that meta tensors go through by its parts."""
    entry = dc.registry.find_entry(full)
    if entry is not None and dc.DispatchKey.CompositeImplicitAutograd in entry.kernels:
        raise RuntimeError(
            f"We should not register a meta kernel directly to the operator '{name}', because it has a "
            "CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose, and ensure that we "
            "have meta kernels for the base ops that it decomposes into."
        )


@contextmanager
def scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Open a library for a block, and take back its registrations after it (source: ``torch.library._scoped_library``).

    >>> with scoped_library("doctest_scoped", "FRAGMENT") as library:
    ...     library.define("nothing() -> ()")
    'nothing'
    """
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def keep(namespace: str) -> Library:
    """Return a new fragment of a namespace that stays for good."""
    library = Library(namespace, "FRAGMENT")
    _kept.append(library)
    return library


_NAMELESS: Final = re.compile(r"\(.*\) -> .*")


def is_nameless(schema: str) -> bool:
    """Return whether a schema has no name before its arguments."""
    return _NAMELESS.fullmatch(schema) is not None
