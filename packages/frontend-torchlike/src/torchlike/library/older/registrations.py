"""Operators of the older API: an object for each, and its registrations (source: ``torch._custom_op.impl``)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import dispatch_core as dc

from ..callers import find_caller
from ..fakes import get_ctx
from ..formulas import is_functional
from ..inference import infer_schema
from ..libraries import Library
from ..operator_kernels import iterate_tensors
from ..torch_errors import LibraryError
from .gradients import make_autograd_kernel, make_formula
from .rules import (
    RESERVED_NS,
    SUPPORTED_DEVICE_TYPE_TO_KEY,
    parse_qualname,
    parse_schema,
    validate_device_type,
    validate_function_matches_schema,
    validate_namespace,
    validate_schema,
)

__all__ = [
    "RESERVED_NS",
    "SUPPORTED_DEVICE_TYPE_TO_KEY",
    "CustomOp",
    "custom_op",
    "define_with_schema",
    "find_custom_op",
    "get_ctx",
    "get_op",
    "global_registry",
    "infer_schema",
]

#: Operator → its object.
global_registry: Final[dict[str, CustomOp]] = {}


def _warn() -> None:
    warnings.warn(
        "torch._custom_op is deprecated and will be removed in PyTorch 2.6, please use the equivalent torch.library API "
        "instead.",
        DeprecationWarning,
        stacklevel=3,
    )


class _Registered(NamedTuple):
    """A function, and the place of the code that registered it."""

    func: Callable[..., Any]
    location: str


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[[Callable[..., Any]], CustomOp]:
    """Make an operator of the name and the hints of a function, which is never called, or of ``manual_schema``.

    A decorator. Raises ``ValueError`` for another name, for schemas that write or return views, and for functions whose
    parameters are not those of the schema (source: ``torch._custom_op.impl.custom_op``).
    """
    _warn()

    def make(func: Callable[..., Any]) -> CustomOp:
        namespace, name = parse_qualname(qualname)
        validate_namespace(namespace)
        check_name(qualname, name, func)
        text = infer_schema(func, mutates_args=()) if manual_schema is None else manual_schema
        schema = parse_schema(f"{name}{text}")
        validate_schema(schema)
        if manual_schema is not None:
            validate_function_matches_schema(schema, func)
        made = _define(namespace, schema)
        made.__name__, made.__module__, made.__doc__ = func.__name__, func.__module__, func.__doc__
        return made

    return make


def check_name(qualname: str, name: str, func: Any) -> None:
    """Refuse anything but a function with the operator's name; raises ``ValueError``."""
    if not inspect.isfunction(func):
        raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
    if func.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
            f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to `custom_op`"
        )


def _define(namespace: str, schema: dc.FunctionSchema, tags: Iterable[str] = ()) -> CustomOp:
    library = Library(namespace, "FRAGMENT")
    library.define(str(schema), tags=tags)
    made = CustomOp(library, namespace, schema, schema.name.name, None, _private_access=True)
    made._report_missing_kernels()
    made._register_autograd_kernel()
    return made


def define_with_schema(qualname: str, schema: str) -> Any:
    """Define an operator by its schema without a name, and return its overload."""
    namespace, name = parse_qualname(qualname)
    parsed = parse_schema(f"{name}{schema}")
    validate_schema(parsed)
    _define(namespace, parsed, ("needs_fixed_stride_order",))
    return get_op(qualname)


def get_op(qualname: str) -> Any:
    """Return the overload without a name of an operator; raises ``ValueError`` where there is none."""
    parse_qualname(qualname)
    try:
        return dc.registry.get(qualname).op
    except dc.OperatorNotFoundError:
        fault = ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator and (if "
            "registered from C++) loaded it via torch.ops.load_library."
        )
    raise fault


def find_custom_op(qualname: str, *, also_check_torch_library: bool = False) -> CustomOp:
    """Return the object of an operator, a new one for an operator of a library where that is asked for.

    Raises ``RuntimeError`` where there is none.
    """
    found = global_registry.get(qualname)
    if found is not None:
        return found
    if not also_check_torch_library:
        raise RuntimeError(f'Could not find custom op "{qualname}". Did you register it via the torch._custom_ops API?')
    op = get_op(qualname)
    bare = dc.FunctionSchema(dc.schema.OperatorName(None, op.schema.name.name), op.schema.arguments, op.schema.returns)
    return CustomOp(Library(op.namespace, "FRAGMENT"), op.namespace, bare, bare.name.name, op, _private_access=True)


class CustomOp:
    """An operator of the older API, and its registrations; calling it calls the operator.

    Made by `custom_op` (source: ``torch._custom_op.impl.CustomOp``).
    """

    __name__: str

    def __init__(
        self,
        lib: Library,
        cpp_ns: str,
        schema: dc.FunctionSchema,
        operator_name: str,
        ophandle: Any,
        *,
        _private_access: bool = False,
    ) -> None:
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private and we do not guarantee BC for it. Please use custom_op(...) to create "
                "a CustomOp object"
            )
        self._lib, self._cpp_ns, self._schema, self._opname = lib, cpp_ns, schema, operator_name
        self._qualname = f"{cpp_ns}::{operator_name}"
        self._impls: dict[str, _Registered] = {}
        self._output_differentiability: list[bool] | None = None
        self._has_autograd_kernel = False
        #: The kernel that tells of missing ones, which does not count as one.
        self._reporter: Callable[..., Any] | None = None
        global_registry[self._qualname] = self

    @property
    def op(self) -> Any:
        """Return the operator's overload."""
        return get_op(self._qualname)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""
        return self.op(*args, **kwargs)

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def _destroy(self) -> None:
        """Take the operator back."""
        self._lib._destroy()
        global_registry.pop(self._qualname, None)

    def _register_impl(self, kind: str, func: Callable[..., Any]) -> None:
        held = self._impls.get(kind)
        if held is not None:
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl "
                f"registered from Python at {held.location}. This is not supported."
            )
        self._impls[kind] = _Registered(func, str(find_caller()))

    def _get_impl(self, kind: str) -> _Registered:
        return self._impls[kind]

    def _has_impl(self, kind: str) -> bool:
        return kind in self._impls

    def _report_missing_kernels(self) -> None:
        """Register the kernel of every device, which names what is missing."""

        def report(*args: Any, **kwargs: Any) -> Any:
            device = next((each.device.type for each in iterate_tensors((*args, *kwargs.values()))), None)
            if device is None:
                raise NotImplementedError(
                    f"{self}: There were no Tensor inputs to this operator (e.g. you passed an empty list of Tensors). If "
                    "your operator is a factory function (that is, it takes no Tensors and constructs a new one), then "
                    "please use CustomOp.impl_factory to register an implementation for it"
                )
            if device == "meta":
                raise NotImplementedError(
                    f"{self}: when running with device='Meta' tensors: there is no fake impl or Meta kernel registered "
                    "for this CustomOp. Please register one via torch.library.register_fake"
                )
            raise NotImplementedError(
                f"{self}: when running with device='{device}' tensors: there is no {device} impl registered for this "
                f"CustomOp. Please register one via CustomOp.impl(device_type='{device}')"
            )

        self._reporter = report
        self._lib.impl(self._opname, report, "CompositeExplicitAutograd")

    def _has_kernel(self, key: str) -> bool:
        """Return whether a program has registered a kernel under exactly a key."""
        held = self.op.registrations(dc.DispatchKey[key])
        if not held or held[0].is_fallthrough:
            return False
        return not (key == "CompositeExplicitAutograd" and self._reporter is not None and len(held) == 1)

    def impl(self, device_types: str | Iterable[str], _stacklevel: int = 2) -> Callable[[Any], Any]:
        """Register a kernel, a function of tensors, for devices. A decorator.

        Raises ``ValueError`` for other devices than cpu and cuda, ``RuntimeError`` where there is a kernel.
        """
        devices = [device_types] if isinstance(device_types, str) else [*device_types]
        for device in devices:
            validate_device_type(device)

        def register(f: Callable[..., Any]) -> Callable[..., Any]:
            composites = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
            for device in devices:
                key = SUPPORTED_DEVICE_TYPE_TO_KEY[device]
                if not self._has_impl(device) and any(map(self._has_kernel, (key, *composites))):
                    raise LibraryError(
                        f"impl(..., device_types={device}): the operator {self._qualname} already has an implementation for "
                        "this device type via a pre-existing torch.library or TORCH_LIBRARY registration."
                    )
            for device in dict.fromkeys(devices):
                self._register_impl(device, f)
                self._lib.impl(self._opname, f, SUPPORTED_DEVICE_TYPE_TO_KEY[device])
            return f

        return register

    def impl_factory(self) -> Callable[[Any], Any]:
        """Register the function of an operator without tensors. A decorator."""

        def register(f: Callable[..., Any]) -> Callable[..., Any]:
            self._register_impl("factory", f)
            self._lib.impl(self._opname, f, "BackendSelect")
            return f

        return register

    def impl_abstract(self, _stacklevel: int = 2) -> Callable[[Any], Any]:
        """Register the operator's effect on shapes and dtypes. A decorator."""

        def register(f: Callable[..., Any]) -> Callable[..., Any]:
            self._register_impl("abstract", f)
            self._lib._register_fake(self._opname, f, allow_override=False)
            return f

        return register

    def _check_can_register_backward(self) -> None:
        schema = self._schema
        fault = ""
        if schema.is_mutable:
            fault = "non-functional operator"
        elif not schema.returns:
            fault = "operator with no returns"
        elif not is_functional(schema):
            fault = "operator that returns views"
        if fault:
            raise LibraryError(
                f"Cannot use torch._custom_ops APIs to register backward formula for {fault}. Got operator "
                f"{self._qualname} with schema: {schema}"
            )
        if self._has_autograd_kernel:
            return
        if self._has_kernel("CompositeImplicitAutograd"):
            raise LibraryError(
                f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an implementation for "
                "this device type via a pre-existing registration to DispatchKey::CompositeImplicitAutograd. Such operators "
                "do not need an autograd formula: they decompose into their constituents, which can have formulas."
            )
        for key in ("Autograd", "AutogradCPU", "AutogradCUDA"):
            if self._has_kernel(key):
                raise LibraryError(
                    f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an Autograd kernel "
                    f"registered to DispatchKey::{key} via a pre-existing torch.library or TORCH_LIBRARY registration. "
                    "Please either remove those registrations or don't use the torch._custom_ops APIs"
                )

    def _register_autograd_kernel(self) -> None:
        if not self._has_autograd_kernel:
            self._has_autograd_kernel = True
            self._lib.impl(self._opname, make_autograd_kernel(self), "Autograd")

    def _register_part(self, kind: str, f: Callable[..., Any]) -> None:
        """Register one of the two functions of a formula; with both it is complete."""
        self._check_can_register_backward()
        self._register_autograd_kernel()
        self._register_impl(kind, f)
        if self._has_impl("backward") and self._has_impl("save_for_backward"):
            self._register_impl("autograd", make_formula(self))

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[[Any], Any]:
        """Register ``f(inputs, output)``, which returns what backward needs of a call. A decorator."""
        return lambda f: self._register_part("save_for_backward", f)

    def impl_backward(
        self, output_differentiability: list[bool] | None = None, _stacklevel: int = 2
    ) -> Callable[[Any], Any]:
        """Register ``f(ctx, saved, *grads)``, which returns the gradients by the names of the arguments. A decorator.

        ``output_differentiability`` says which of the results have a gradient. Raises ``RuntimeError`` unless there is a
        bool for each.
        """
        marks = output_differentiability
        if marks is not None and not (
            isinstance(marks, list)
            and all(isinstance(each, bool) for each in marks)
            and len(marks) == len(self._schema.returns)
        ):
            raise LibraryError(
                "impl_backward(output_differentiability): expected output_differentiability to be a list of bools with "
                f"length equal to the number of outputs of this CustomOp got: {marks}"
            )

        def register(f: Callable[..., Any]) -> None:
            self._output_differentiability = marks
            self._register_part("backward", f)

        return register


_custom_op_with_schema, _find_custom_op = define_with_schema, find_custom_op
