"""Overloads: the functions that users call, ``ops.aten.add.Tensor``, and those that frontends make of them.

Note [An overload is a function]
    Calling an object costs more in CPython than all of dispatch. So an overload is a plain function with attributes that
    describe the operator. Until its first call it only knows how to make the code for its schema, and it takes that over in
    place: a caller that holds the overload keeps the same function, also when its schema changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast, runtime_checkable

from ..calls.adapters import SignatureAdapter
from ..calls.lazy_function import LazyFunction
from ..calls.overriding import Override
from ..calls.traits import Runner
from ..errors import ArgumentError
from ..keys.keyset import KeyLike, KeysetLike, as_key
from ..lazy_text import LazyText
from ..schema.model import FunctionSchema
from ..schema.torch_names import CallableName, TorchSchema
from ..schema.words import declaration

if TYPE_CHECKING:
    from inspect import Signature

    from ..keys.table import DispatchKey
    from ..signatures import LazySignature
    from .entry import OperatorEntry
    from .namespaces import OpOverloadPacket
    from .registration import Registration
    from .registries import Registry


@runtime_checkable
class OpOverload(Protocol):
    """One overload of an operator: a function with its name, schema and tags (source: ``torch._ops.OpOverload``).

    Calling it dispatches. Raises ``TypeError`` for arguments that do not fit the schema, ``NoKernelError`` where no kernel
    serves the arguments' keys, ``ClosedOperatorError`` once the library that defined it was closed, and the kernel's
    own errors.
    """

    #: The full name, ``aten::add.Tensor``, which torch's programs call: ``op.name()``.
    name: CallableName
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
    #: Whether a result shares the memory of an argument that is not written to.
    is_view: bool
    #: The same, by torch's name, which handlers of modes that are written for torch ask for; those of the other names are
    #: ``_schema``, a schema with torch's names, ``_name``, ``_namespace``, ``_opname``, ``_overloadname`` and
    #: ``_defined_in_python``.
    overloadpacket: OpOverloadPacket
    #: Another number whenever a registration has changed that could change which kernels run.
    generation: int
    _entry: OperatorEntry
    #: The call and the redispatch, as lazy functions.
    _lazy: tuple[LazyFunction, LazyFunction]
    #: The call, and functions of frontends that do the same.
    _callers: list[LazyFunction]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Dispatch with the keys of the arguments and the context's masks."""

    def redispatch(self, keyset: KeysetLike, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator for an explicit keyset or mask, without the context's excluded keys."""

    def has_kernel_for_dispatch_key(self, key: KeyLike) -> bool:
        """Return whether ``key`` has a kernel of its own."""

    def registrations(self, key: DispatchKey) -> tuple[Registration, ...]:
        """Return the registrations under exactly ``key``, the active one first."""

    def runner(self, mask: int) -> Runner:
        """Return the function that runs the operator for an explicit mask, for one call.

        It takes all arguments by position, in the schema's order, and neither checks them nor fills in defaults. Asking
        for it costs as much as a look-up in a dictionary.
        """

    def lasting_runner(self, mask: int) -> Runner:
        """Return the same for callers that keep it until ``generation`` changes: no first call's results are compared."""


def is_overload(op: object) -> TypeGuard[OpOverload]:
    """Return whether an object is an overload; asking the protocol for its instances takes as long as twenty calls."""
    return isinstance(op, FunctionType) and hasattr(op, "_entry")


def make_overload(entry: OperatorEntry) -> OpOverload:
    """Return the function for one overload; see Note [An overload is a function]."""
    engine, lock = entry.registry.engine, entry.registry.lock
    name = entry.operator_name
    call = LazyFunction(
        lambda: engine.make_caller(entry), lock, engine.make_first_calls(entry), plan=engine.make_plan(entry)
    )
    redispatch = LazyFunction(lambda: engine.make_redispatcher(entry), lock)
    op: Any = call.function
    op._entry, op._lazy, op._callers = entry, (call, redispatch), [call]
    op.name, op.namespace, op.overload_name = CallableName(entry.name), name.namespace or "", name.overload or "default"
    op.redispatch = redispatch.function
    op.packet = op.overloadpacket = entry.registry.ops.packet_of(name.packet)
    op._overloadname, op._name, op._opname, op._namespace = op.overload_name, entry.name, name.name, op.namespace
    op._defined_in_python = name.namespace not in ("aten", "prims", None)
    op.generation, op.registrations = entry.generation, entry.registrations
    op.has_kernel_for_dispatch_key = lambda key: as_key(key) in entry.kernels
    describe(op)
    return cast("OpOverload", op)


def describe(op: Any) -> None:
    """Set an overload's schema, tags and names, and let it make its code again at the next call."""
    entry = op._entry
    for lazy in (*op._callers, op._lazy[1]):
        lazy.invalidate()
    op.schema = entry.schema
    op._schema = None if entry.schema is None else TorchSchema(entry.schema)
    op.is_view = op._schema is not None and op._schema.is_view
    op.tags = entry.tags
    op.runner, op.lasting_runner = entry.explicit_table.__getitem__, entry.explicit_table.find
    op.__name__ = f"{entry.operator_name.name}.{op.overload_name}"
    op.__module__ = type(entry.registry).__module__  # where pickle looks for it, by the qualified name
    shown = f"{entry.name}()" if entry.schema is None else declaration(entry.schema)  # as the generated function has it
    op.__qualname__ = f"{shown}\n{entry.name}"
    registry, packet, overload = entry.registry, entry.operator_name.packet, entry.operator_name.overload or "default"
    op.__doc__ = LazyText(lambda: document_operator(registry, packet, overload))
    from ..signatures import signature_of  # it imports inspect, which programs without operators do without

    op.__signature__ = signature_of(lambda: op.schema)


def rename_arguments(
    op: OpOverload,
    name: str,
    tensor_type: type,
    slow_path: Callable[..., Any],
    *,
    names: Mapping[str, str] = MappingProxyType({}),
    extra: Mapping[str, Any] = MappingProxyType({}),
    slow_path_types: Collection[type] = (),
    takes_more: bool = False,
    missing: object = None,
    star: str = "",
    alone: Callable[..., Any] | None = None,
    with_out: Callable[..., Any] | None = None,
    fill: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
    override: Override | None = None,
    overrides: Callable[[tuple[Any, ...]], bool] = bool,
    plain_types: Collection[type] = frozenset(),
    numbers: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return a function of a frontend that does as ``op`` does, without a call between.

    ``names`` maps arguments of the schema to the function's own names, ``extra`` further keyword-only arguments to their
    defaults. A call that gives one of these, whose last positional argument has a type in ``slow_path_types``, or whose
    tensors are none of ``tensor_type``, is handed to ``slow_path`` as it is; with ``takes_more`` so is one with more
    positional arguments than the schema has. With ``missing``, an object of the frontend's own, so is every call that the
    schema does not take as it stands, with arguments of the common types: the object represents those that the call leaves
    out. ``star`` is the last positional argument, if it is a list whose items may be written one by one. ``alone`` serves
    calls with the first argument alone, where the schema requires another. ``with_out`` serves calls of tensors that
    give ``out`` besides the schema's arguments. ``fill`` maps arguments to functions that give their values where they are
    None. A function of an operator that takes no tensor makes tensors of its arrays. ``override`` gets the arguments of a
    call, by position and by name, and returns the result, or ``NotImplemented`` where none of them overrides the function;
    ``overrides`` says so of some values, and ``plain_types`` has further types of tensors that override nothing. See Note
    [Functions that may be overridden] in `overriding`. ``numbers`` is what ``slow_path`` calls for a tensor and an int or a
    float, where that is all it does with them.

    >>> from dispatch_core import Library, Registry
    >>> class Text:
    ...     _dispatch_mask = 0
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> _ = library.define("count(Tensor self, Tensor other) -> int")
    >>> _ = library.impl("count", lambda a, b: 2)
    >>> op = r.ops.demo.count.default
    >>> count = rename_arguments(op, "count", Text, lambda *args: args, names={"self": "text"}, slow_path_types={int})
    >>> count(text=Text(), other=Text()), count("a", 1)
    (2, ('a', 1))
    """
    if not is_overload(op):
        raise ArgumentError(f"expected an OpOverload, not {type(op).__name__}")
    entry = op._entry
    engine = entry.registry.engine
    types = frozenset(slow_path_types)
    adapter = SignatureAdapter(
        name=name,
        names=names,
        extra=extra,
        tensor_type=tensor_type,
        slow_path_types=types,
        slow_path=slow_path,
        takes_more=takes_more,
        missing=missing,
        star=star,
        alone=alone,
        with_out=with_out,
        fill=fill,
        override=override,
        overrides=overrides,
        numbers=numbers,
        plain_types=plain_types,
    )
    first_calls = engine.make_first_calls(entry, adapter)
    plan = engine.make_plan(entry, adapter)
    lazy = LazyFunction(
        lambda: engine.make_adapted_caller(entry, adapter), entry.registry.lock, first_calls, name=name, plan=plan
    )
    op._callers.append(lazy)
    return lazy.function


def respell(
    op: OpOverload,
    name: str,
    tensor_type: type,
    otherwise: Callable[..., Any],
    *,
    elsewhere: Collection[type] = (),
    **given: Any,
) -> Callable[..., Any]:
    """Return `rename_arguments` of the arguments: its name, and that of two of them, until 0.2."""
    warnings.warn("respell is rename_arguments now; the old name goes in 0.2", DeprecationWarning, stacklevel=2)
    return rename_arguments(op, name, tensor_type, otherwise, slow_path_types=elsewhere, **given)


# Docstrings: their library's sentences, by ``Library.document``, with their schemas otherwise.


class Documentation:
    """The ``__doc__`` of a class, and that of its objects, which ``make`` returns for each when it is read.

    >>> class Number:
    ...     __doc__ = Documentation("A number.", lambda self: f"The number {self.value}.")
    ...     value = 3
    >>> Number.__doc__, Number().__doc__
    ('A number.', 'The number 3.')
    """

    def __init__(self, text: str | None, make: Callable[[Any], str]) -> None:
        self._text, self._make = text, make

    def __get__(self, instance: object, owner: type) -> str | None:
        return self._text if instance is None else self._make(instance)


class SignatureProperty:
    """Gives the objects of a class their ``__signature__``, and the class itself none.

    >>> import inspect
    >>> class Twice:
    ...     __signature__ = SignatureProperty(lambda self: [inspect.signature(lambda number: 2 * number)])
    ...     def __call__(self, *args): ...
    >>> str(inspect.signature(Twice())), str(inspect.signature(Twice))
    ('(number)', '()')
    """

    def __init__(self, make: Callable[[Any], Iterable[Signature]]) -> None:
        self._make = make

    def __get__(self, instance: object, owner: type) -> LazySignature:
        if instance is None:
            raise AttributeError("__signature__")
        from ..signatures import LazySignature  # it imports inspect, which programs without operators do without

        return LazySignature(lambda: self._make(instance))


def document_operator(registry: Registry, name: str, overload: str | None = None) -> str:
    """Return the docstring of an operator, ``namespace::name``: that of its library, or else its schemas."""
    for describe in registry.descriptions.get(name.partition("::")[0], ()):
        found = describe(name, overload)
        if found is not None:
            return found
    kept = [each for each in registry.overloads(name) if overload in (None, each or "default")]
    entries = [registry.get(f"{name}.{each}" if each else name) for each in kept]
    listed = "".join(f"\n    {entry.schema}" for entry in entries if entry.schema is not None)
    what = f"the operator {name}" if overload is None else f"the overload {overload!r} of {name}"
    return (
        f"Call {what} on the backend of its arguments.\n\nCalls:{listed}"
        if listed
        else f"Call {what}, which has no schema."
    )
