"""Adding kernels, fakes, formulas and rules of layers to operators that exist, without a library of one's own.

Everything here takes the operator as a name or an overload, and a ``lib`` to register through; without one, the registration
stays for good. Operators made by ``custom_op`` take such registrations as their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar, overload

from ..arrays.owners import named_key
from ..arrays.protocols import AutogradFormula, Backward, BatchingRule, Kernel, SetupContext
from ..errors import ArgumentError, OperatorNotFoundError, RegistrationError, short_repr
from ..keys.table import DispatchKey
from ..operators.kernel_handle import as_overload
from ..operators.library import Library
from ..operators.operator_index import parse_name
from ..operators.overloads import OpOverload
from ..schema.model import FunctionSchema
from ..tracebacks import api_boundary
from .author_kernels import (
    BATCHED,
    autograd_kernel,
    check_formula,
    fake_kernel,
    make_autocast_kernel,
    make_batching_kernel,
)
from .definition import AnyOperator, CustomOpDef, DeviceTypes, devices_of, find_custom_op

_F = TypeVar("_F", bound=Callable[..., Any])


@api_boundary
def define(qualname: str, schema: str, *, lib: Library | None = None, tags: str | Iterable[str] = ()) -> str:
    """Define ``namespace::name`` by a schema without a name, ``"(Tensor x) -> Tensor"``, and return the full name.

    Raises as ``Library.define`` does.

    >>> from dispatch_core import Registry
    >>> r = Registry()
    >>> with Library("demo", "DEF", registry=r) as library:
    ...     define("demo::half", "(int x) -> float", lib=library)
    'demo::half'
    """
    if not isinstance(qualname, str) or "::" not in qualname:
        raise RegistrationError(f"{short_repr(qualname)} names no namespace", hint="write namespace::name")
    return _library(qualname, lib, "FRAGMENT").define(f"{qualname}{schema}", tags=tags)


@overload
def impl(qualname: str, types: DeviceTypes, func: _F, *, lib: Library | None = None) -> _F: ...
@overload
def impl(qualname: str, types: DeviceTypes, func: None = None, *, lib: Library | None = None) -> Callable[[_F], _F]: ...
@api_boundary
def impl(qualname: str, types: DeviceTypes, func: Kernel | None = None, *, lib: Library | None = None) -> object:
    """Register a kernel for devices or dispatch keys; "default" represents every device. A decorator without ``func``.

    Raises as ``Library.impl`` does, and ``BackendNotFoundError`` for a name of neither a device nor a key.
    """
    if func is None:
        return functools.partial(impl, qualname, types, lib=lib)
    return _impl(qualname, types, func, lib)


@overload
def register_kernel(op: AnyOperator, device_types: DeviceTypes, fn: _F, /, *, lib: Library | None = None) -> _F: ...
@overload
def register_kernel(
    op: AnyOperator, device_types: DeviceTypes, fn: None = None, /, *, lib: Library | None = None
) -> Callable[[_F], _F]: ...
@api_boundary
def register_kernel(
    op: AnyOperator,
    device_types: DeviceTypes,
    fn: Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
) -> object:
    """Register an operator's kernel for devices, None for every one. A decorator without ``fn``.

    A kernel for a device sees its arrays; one for every device sees the caller's arguments. Raises
    ``OperatorNotFoundError`` for an unknown operator, ``BackendNotFoundError`` for a name that is no device's.
    """
    if fn is None:
        return functools.partial(register_kernel, op, device_types, lib=lib)
    found, definition = _operator(op, lib)
    if definition is not None:
        definition.register_kernel(device_types, fn)
        return fn
    return _impl(found, device_types, fn, lib)


@overload
def register_fake(op: AnyOperator, fn: _F, /, *, lib: Library | None = None) -> _F: ...
@overload
def register_fake(op: AnyOperator, fn: None = None, /, *, lib: Library | None = None) -> Callable[[_F], _F]: ...
@api_boundary
def register_fake(op: AnyOperator, fn: Kernel | None = None, /, *, lib: Library | None = None) -> object:
    """Register an operator's effect on shapes and dtypes, as its kernel under Meta. A decorator without ``fn``.

    See Note [A fake sees the caller's arguments]. Raises ``RegistrationError`` where the operator is a composite that
    meta arrays go through as any others do.
    """
    if fn is None:
        return functools.partial(register_fake, op, lib=lib)
    found, definition = _operator(op, lib)
    if definition is not None:
        return definition.register_fake(fn)
    if found.has_kernel_for_dispatch_key("CompositeImplicitAutograd"):
        raise RegistrationError(
            f"{found.name} is a composite and needs no fake: it runs on meta arrays as on any",
            hint="a kernel under Meta would take its gradients away; Library.impl registers one all the same",
        )
    _library(found, lib, "IMPL").impl(found, fake_kernel(fn), DispatchKey.Meta)
    return fn


@api_boundary
def register_autograd(
    op: AnyOperator,
    backward: Backward,
    /,
    *,
    setup_context: SetupContext | None = None,
    lib: Library | None = None,
) -> None:
    """Register the formula of an operator's gradients; see ``AutogradFormula``.

    The frontend of the tensors runs it. Raises ``RegistrationError`` for an operator that writes to an argument or has
    keyword-only tensors, ``OperatorNotFoundError`` for one without a schema.
    """
    found, definition = _operator(op, lib)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    check_formula(_schema_of(found))
    formula = AutogradFormula(backward, setup_context)
    _library(found, lib, "IMPL").impl(found, autograd_kernel(lambda: formula), DispatchKey.Autograd)


@overload
def register_vmap(op: AnyOperator, func: _F, /, *, lib: Library | None = None) -> _F: ...
@overload
def register_vmap(op: AnyOperator, func: None = None, /, *, lib: Library | None = None) -> Callable[[_F], _F]: ...
@api_boundary
def register_vmap(op: AnyOperator, func: BatchingRule | None = None, /, *, lib: Library | None = None) -> object:
    """Register the rule by which a frontend's ``vmap`` calls an operator once for all rows. A decorator without ``func``.

    ``func(info, in_dims, *args, **kwargs)`` returns ``(output, out_dims)`` (source: ``torch.library.register_vmap``). It
    gets all arguments, tensors with the batch as one more dimension; ``in_dims`` says which for each positional argument,
    None for one that all rows share, in lists where the argument is a list. ``info`` has ``batch_size`` and ``randomness``.
    ``out_dims`` says for each result where the batch is, None where all rows share it. The rule of an operator that writes
    writes into the tensors that it gets.

    The rule takes the place of the operator's composite and of any other rule. Raises ``RegistrationError`` for an operator
    with keyword-only tensors, ``OperatorNotFoundError`` for an unknown operator or one without a schema.
    """
    if func is None:
        return functools.partial(register_vmap, op, lib=lib)
    found, definition = _operator(op, lib)
    if definition is not None:
        return definition.register_vmap(func)
    _library(found, lib, "IMPL").impl(found, make_batching_kernel(_schema_of(found), func), BATCHED)
    return func


@api_boundary
def register_autocast(op: AnyOperator, device_type: str, cast_inputs: object, /, *, lib: Library | None = None) -> None:
    """Register the dtype to which an operator's tensors are cast where autocast is on for a device.

    The floating-point tensors of the device, float64 left out, are cast to ``cast_inputs``, and the operator runs with
    autocast off for the device (source: ``torch.library.register_autocast``). Arguments that it writes to are not cast.
    Raises ``BackendNotFoundError`` for a name that is no device's, ``ArgumentError`` for an unknown dtype,
    ``OperatorNotFoundError`` for an unknown operator or one without a schema.
    """
    found, definition = _operator(op, lib)
    if definition is not None:
        definition.register_autocast(device_type, cast_inputs)
        return
    _schema_of(found)
    key, kernel = make_autocast_kernel(device_type, cast_inputs)
    _library(found, lib, "IMPL").impl(found, kernel, key)


def _schema_of(op: OpOverload) -> FunctionSchema:
    if op.schema is None:
        raise OperatorNotFoundError(f"{op.name} has no schema", hint="Library.define gives it one")
    return op.schema


def _impl(op: str | OpOverload, types: DeviceTypes, fn: Kernel, lib: Library | None) -> Kernel:
    """Register a kernel for each device or key, or for none of them."""
    keys = [_key(name) for name in devices_of(types)]
    library = _library(op, lib, "IMPL")
    with library.registry.transaction():
        for key in keys:
            library.impl(op, fn, key)
    return fn


def _operator(op: AnyOperator, lib: Library | None) -> tuple[OpOverload, CustomOpDef[..., Any] | None]:
    found = as_overload(op, None if lib is None else _check_library(lib).registry)
    return found, find_custom_op(found) if lib is None else None


def _check_library(lib: Library) -> Library:
    if not isinstance(lib, Library):
        raise ArgumentError(f"expected a Library or None, not {type(lib).__name__}")
    return lib


def _library(op: str | OpOverload, lib: Library | None, kind: Literal["IMPL", "FRAGMENT"]) -> Library:
    if lib is not None:
        return _check_library(lib)
    if isinstance(op, str):
        return Library(parse_name(op).namespace or "aten", kind)
    return Library(op.namespace, kind, registry=op._entry.registry)


def _key(name: str | None) -> DispatchKey:
    """Return the key for a device's name, a dispatch key's, or None and "default" for every device."""
    if name is None or name == "default":
        return DispatchKey.CompositeExplicitAutograd
    return DispatchKey[name] if name in DispatchKey else named_key(name)
