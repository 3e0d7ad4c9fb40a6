"""Operators made of one function: ``custom_op`` and ``CustomOpDef`` (source: ``torch.library.custom_op``).

Note [Where a custom operator's functions run]
    Without ``device_types`` the function is the kernel for every device (CompositeExplicitAutograd). It sees the caller's
    arguments, tensors of a frontend or raw arrays, below autograd. With ``device_types``, and in ``register_kernel``, it is
    a backend's kernel and sees that backend's arrays, from every caller: a function for NumPy is registered for "cpu".
    At Autograd stands the formula, at Meta the fake (see Note [A fake sees the caller's arguments]).
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, ParamSpec, TypeAlias, TypeVar, overload

from .._record import replace
from ..arrays.owners import is_tensor, named_key
from ..arrays.protocols import AutogradFormula, Backward, BatchingRule, Kernel, SetupContext
from ..bookkeeping.transactions import on_rollback
from ..calls.signature import make_signature
from ..errors import ArgumentError, NoKernelError, OverwriteWarning, RegistrationError, SchemaError
from ..keys.table import DispatchKey
from ..operators.kernel_handle import OperatorLike
from ..operators.library import Library
from ..operators.operator_index import parse_name
from ..operators.overloads import Documentation, OpOverload, SignatureProperty, document_operator
from ..operators.registration import Registration, caller_origin
from ..operators.registries import Registry, the_registry
from ..schema.model import Argument, FunctionSchema
from ..tracebacks import api_boundary, trim_traceback
from .author_kernels import (
    BATCHED,
    autograd_kernel,
    check_formula,
    fake_kernel,
    make_autocast_kernel,
    make_batching_kernel,
)
from .result_checks import check_results
from .schema_inference import infer_schema

_EXPLICIT: Final = DispatchKey.CompositeExplicitAutograd
DeviceTypes = str | Iterable[str] | None
_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def custom_op(
    name: str,
    fn: Callable[_P, _R],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: str | Iterable[str] = (),
    registry: Registry | None = None,
) -> CustomOpDef[_P, _R]: ...
@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: str | Iterable[str] = (),
    registry: Registry | None = None,
) -> Callable[[Callable[_P, _R]], CustomOpDef[_P, _R]]: ...
@api_boundary
def custom_op(
    name: str,
    fn: Kernel | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: str | Iterable[str] = (),
    registry: Registry | None = None,
) -> Any:
    """Make an operator ``namespace::name`` of a function, with a schema from its type hints; a decorator without ``fn``.

    ``mutates_args`` names the arguments that it writes to, or is "unknown". Results that are arguments, or views of them,
    are refused at the call unless ``schema`` declares them; ``schema`` takes the place of the hints. For ``device_types``
    see Note [Where a custom operator's functions run]. Defining the name again replaces the operator, with an
    ``OverwriteWarning`` where that happens in another file. Raises ``SchemaError`` for hints that no schema can express or a
    ``schema`` that contradicts ``mutates_args``, ``RegistrationError`` for a name that a library has defined.

    >>> from dispatch_core import Registry
    >>> r = Registry()
    >>> @custom_op("demo::repeat", mutates_args=(), registry=r)
    ... def repeat(text: str, times: int = 2) -> str:
    ...     return text * times
    >>> repeat("ha"), r.ops.demo.repeat("ha", 3)
    ('haha', 'hahaha')
    >>> str(repeat.op.schema)
    'demo::repeat(str text, SymInt times=2) -> str'
    """
    if fn is None:
        return functools.partial(
            custom_op,
            name,
            mutates_args=mutates_args,
            device_types=device_types,
            schema=schema,
            tags=tags,
            registry=registry,
        )
    if "::" not in name:
        raise SchemaError(
            f"custom operator {name!r} has no namespace", hint=f"write mylib::{name}, of a name of your own"
        )
    written = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
    parsed = _infer(name, fn, written) if schema is None else _parse(name, schema, written)
    return CustomOpDef(parsed, fn, device_types, tags, the_registry(registry))


def _infer(name: str, fn: Kernel, written: str | tuple[str, ...]) -> FunctionSchema:
    parsed = FunctionSchema.parse(infer_schema(fn, mutates_args=written, op_name=name))
    parameters = inspect.signature(fn).parameters

    def own_default(argument: Argument) -> Argument:
        """Restore the function's own object where its default is a dtype, which is read as a number."""
        default = parameters[argument.name].default
        is_own = hasattr(type(default), "__schema_type__") or argument.default == default
        return replace(argument, default=default) if argument.has_default and is_own else argument

    arguments = [own_default(argument) for argument in parsed.arguments]
    return replace(parsed, arguments=tuple(arguments))


def _parse(name: str, schema: str, written: str | tuple[str, ...]) -> FunctionSchema:
    if not isinstance(schema, str):
        raise SchemaError(f"a schema is text, not {type(schema).__name__}")
    parsed = FunctionSchema.parse(f"{name}{schema}" if schema.lstrip().startswith("(") else schema)
    wanted = parse_name(name)
    if parsed.name.namespace is None and wanted.namespace is not None:
        parsed = parsed.with_namespace(wanted.namespace)
    if parsed.name != wanted:
        raise SchemaError(f"the schema of custom operator {wanted} is named {parsed.name}", hint="leave the name out")
    declared = {argument.name for argument in parsed.arguments if argument.is_write}
    if written != "unknown" and declared != set(written):
        raise SchemaError(
            f"{wanted}: mutates_args names {sorted(written) or 'nothing'}, but the schema says that"
            f" {sorted(declared) or 'nothing'} is written to: {schema}"
        )
    return parsed


def find_custom_op(op: OpOverload) -> CustomOpDef[..., Any] | None:
    """Return the ``CustomOpDef`` of an operator, or None for one that was defined otherwise."""
    found: CustomOpDef[..., Any] | None = op._entry.registry.custom_ops.get(op.name)
    return found if found is not None and found.op is op else None


def devices_of(device_types: DeviceTypes) -> list[str | None]:
    """Return device types as a list, in which None represents every device."""
    if device_types is None or isinstance(device_types, str):
        return [device_types]
    found: list[str | None] = [*device_types]
    if not all(isinstance(each, str) for each in found):
        raise ArgumentError("device types are names, in a list where there are several")
    return found


class CustomOpDef(Generic[_P, _R]):
    """An operator that was made of a function, and its registrations; calling it calls the operator.

    Made by ``custom_op``.
    """

    __doc__ = Documentation(__doc__, lambda self: document_operator(self._registry, self._schema.name.packet))

    __signature__ = SignatureProperty(lambda self: [inspect.signature(self._fn)])

    def __init__(
        self,
        schema: FunctionSchema,
        fn: Kernel,
        device_types: DeviceTypes,
        tags: str | Iterable[str],
        registry: Registry,
    ) -> None:
        if not isinstance(schema, FunctionSchema):
            raise ArgumentError(f"expected a FunctionSchema, not {type(schema).__name__}", hint="use custom_op")
        self._schema = schema
        self._name = str(schema.name)
        self._signature = make_signature(schema, is_tensor)
        self._fn = fn
        self._fake: Kernel | None = None
        self._formula = AutogradFormula()
        #: device → its kernel.
        self._kernels: dict[str, Registration] = {}
        self._disabled: set[str] = set()
        self.origin = caller_origin()
        self._registry = registry
        devices = devices_of(device_types)
        keys = [self._key(device) for device in devices]
        with registry.lock:
            self._replace_older()
            with registry.transaction():
                self._library = Library(schema.name.namespace or "aten", "FRAGMENT", registry=registry)
                self._library.define(schema, tags=tags)
                self._library.document(self._document)
                self.op: OpOverload = registry.get(self._name).op
                self._library.impl(self.op, autograd_kernel(lambda: self._formula), "Autograd")
                self._library.impl(self.op, fake_kernel(self._run_fake), "Meta")
                for device, key in zip(devices, keys, strict=True):
                    self._register(device, key, fn)
            registry.custom_ops[self._name] = self
            on_rollback(self.close)

    def _document(self, name: str, overload: str | None) -> str | None:
        """Return the function's docstring for the operator that is made of it."""
        own = self._schema.name
        return (
            inspect.getdoc(self._fn) if name == own.packet and overload in (None, own.overload or "default") else None
        )

    def _replace_older(self) -> None:
        """Close the custom operator that had this name, as when its module is read a second time."""
        older: CustomOpDef[..., Any] | None = self._registry.custom_ops.get(self._name)
        if older is None or find_custom_op(older.op) is not older or older.op._entry.closed:
            return
        if older.origin.file != self.origin.file:
            warnings.warn_explicit(
                f"custom operator {self._name} from {older.origin} is replaced by the one from {self.origin}",
                OverwriteWarning,
                self.origin.file,
                self.origin.line,
            )
        older.close()

    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the operator."""
        try:
            return self.op(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    @property
    def name(self) -> str:
        """Return the operator's full name."""
        return self._name

    def close(self) -> None:
        """Take the operator and everything that was registered through this object back."""
        if self._registry.custom_ops.get(self._name) is self:
            del self._registry.custom_ops[self._name]
        self._library.close()

    @overload
    def register_kernel(self, device_types: DeviceTypes, fn: _F, /) -> _F: ...
    @overload
    def register_kernel(self, device_types: DeviceTypes, fn: None = None, /) -> Callable[[_F], _F]: ...
    @api_boundary
    def register_kernel(self, device_types: DeviceTypes, fn: Kernel | None = None, /) -> Any:
        """Register a kernel for devices, None for every one; it sees their arrays. A decorator without ``fn``.

        Raises ``BackendNotFoundError`` for a name that is no device's, ``RegistrationError`` for an operator without tensor
        arguments and without a ``device`` argument, whose calls belong to no device.
        """
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        devices = devices_of(device_types)
        keys = [self._key(device) for device in devices]
        with self._registry.lock, self._registry.transaction():
            for device, key in zip(devices, keys, strict=True):
                self._register(device, key, fn)
        return fn

    def register_fake(self, fn: _F, /) -> _F:
        """Register the operator's effect on shapes and dtypes; see Note [A fake sees the caller's arguments]."""
        self._fake = fn
        return fn

    @api_boundary
    def register_autograd(self, backward: Backward, /, *, setup_context: SetupContext | None = None) -> None:
        """Register the formula of the gradients; see ``AutogradFormula``.

        Raises ``RegistrationError`` for an operator that writes to an argument or has keyword-only tensors.
        """
        check_formula(self._schema)
        with self._registry.lock:
            self._formula = AutogradFormula(backward, setup_context)
            self.op._entry.invalidate()

    @overload
    def register_vmap(self, func: _F, /) -> _F: ...
    @overload
    def register_vmap(self, func: None = None, /) -> Callable[[_F], _F]: ...
    @api_boundary
    def register_vmap(self, func: BatchingRule | None = None, /) -> Any:
        """Register the rule by which a frontend's ``vmap`` calls the operator; a decorator without ``func``.

        See the function ``register_vmap``. Registering again replaces the rule.
        """
        if func is None:
            return self.register_vmap
        kernel = make_batching_kernel(self._schema, func)
        self._library.impl(self.op, kernel, BATCHED, allow_override=True)
        return func

    @api_boundary
    def register_autocast(self, device_type: str, cast_inputs: object, /) -> None:
        """Register the dtype to which tensors are cast where autocast is on for a device.

        See the function ``register_autocast``. Registering again for a device replaces the dtype.
        """
        key, kernel = make_autocast_kernel(device_type, cast_inputs)
        self._library.impl(self.op, kernel, key, allow_override=True)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Take the kernel for a device away, or give it back, in the whole process, until the block ends.

        The operator then runs its other kernels: the function that it was made of, as a rule. A kernel that is
        registered in the block for a device that is disabled stays away until the block ends.
        """
        before = device_type in self._disabled
        self._set_enabled(device_type, enabled)
        try:
            yield
        finally:
            self._set_enabled(device_type, not before)

    def _set_enabled(self, device: str, enabled: bool) -> None:
        with self._registry.lock:
            (self._disabled.discard if enabled else self._disabled.add)(device)
            registration, entry = self._kernels.get(device), self.op._entry
            if registration is None or entry.schema is not self._schema:
                return
            held = entry.registrations(registration.key)
            if enabled and registration not in held:
                self._registry.restore_kernel(entry, registration)
            elif not enabled and registration in held:
                self._registry.remove_kernel(entry, registration)

    def _key(self, device: str | None) -> DispatchKey:
        if device is None:
            return _EXPLICIT
        if not self._schema.tensor_arguments and self._signature.device_index is None:
            raise RegistrationError(
                f"{self._name}: a kernel for device {device!r} would never run, because no argument says which device a call"
                f" is for: {self._schema}",
                hint="give the operator an argument 'device: dispatch_core.Device', or register for every device",
            )
        return named_key(device)

    def _register(self, device: str | None, key: DispatchKey, fn: Kernel) -> None:
        # A kernel for the device meta is a fake too, and takes the place of the one that stands there from the beginning.
        override = True if key is DispatchKey.Meta else None
        self._library.impl(
            self.op, check_results(fn, self._signature, composite=key is _EXPLICIT), key, allow_override=override
        )
        # A disabled kernel gives way to the function itself.
        if device is not None and fn is not self._fn:
            registration = max(self.op._entry.registrations(key), key=lambda found: found.number)
            older = self._kernels.get(device)
            self._kernels[device] = registration
            on_rollback(lambda: self._restore_kernel(device, older))
            if device in self._disabled:
                self._set_enabled(device, enabled=False)

    def _restore_kernel(self, device: str, older: Registration | None) -> None:
        """Undo the changes of a registration that was rolled back."""
        if older is None:
            self._kernels.pop(device, None)
        else:
            self._kernels[device] = older

    def _run_fake(self, *args: object, **kwargs: object) -> object:
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        results = self._signature.results
        if any(result.kind != "self" for result in results):
            raise NoKernelError(
                f"{self._name}: there is no fake, which would say the shape and dtype of the results",
                hint=f"register one: @{self._schema.name.name}.register_fake",
            )
        values = (*args, *kwargs.values())
        return self._signature.pack([values[result.source] for result in results])

    def __repr__(self) -> str:
        return f"<CustomOpDef {self._name}>"


#: An operator as users name it for registrations, a custom one by its object, too.
AnyOperator: TypeAlias = OperatorLike | CustomOpDef[..., Any]
