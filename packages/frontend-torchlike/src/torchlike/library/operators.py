"""Operators made of functions of tensors (source: ``torch.library.custom_op``)."""

from __future__ import annotations

import functools
import inspect
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import dispatch_core as dc

from .callers import find_caller
from .fakes import register_fake_kernel
from .formulas import has_keyword_tensors, make_autograd_kernel
from .inference import infer_schema
from .libraries import Library
from .operator_kernels import check_results, find_device_argument, select_device
from .registration_keys import as_list, autocast_key, key_of_device
from .tags import list_tags
from .torch_errors import LibraryError, as_torch_error

__all__ = ["CustomOpDef", "custom_op", "find_definition"]

_log: Final = logging.getLogger("torch._library.custom_ops")
#: The tag that torch gives each operator that is made so.
_COMPLIANT: Final = "pt2_compliant_tag"


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: str | Iterable[str] | None = None,
) -> Any:
    """Make an operator ``namespace::name`` of a function of tensors, with a schema from its type hints.

    ``mutates_args`` names the arguments that it writes to, or is "unknown"; ``device_types`` the devices that the function
    is for; ``schema`` takes the place of the hints. The operator is one of the dispatcher's, by `dispatch_core.ops` and
    `torchlike.ops`. Defining a name again replaces the operator. A decorator where ``fn`` is left out
    (source: ``torch.library.custom_op``).

    Raises ``ValueError`` for hints that no schema has, or a ``schema`` that contradicts ``mutates_args``,
    ``NotImplementedError`` for tensors among the keyword-only arguments.

    >>> import torchlike
    >>> @custom_op("doctest_custom::double", mutates_args=())
    ... def double(x: torchlike.Tensor) -> torchlike.Tensor:
    ...     return 2 * x
    >>> double(torchlike.ones(2)), torchlike.ops.doctest_custom.double(torchlike.ones(1))
    (tensor([2., 2.]), tensor([2.]))
    >>> double.register_autograd(lambda ctx, grad: 2 * grad)
    >>> x = torchlike.ones(2, requires_grad=True)
    >>> double(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if fn is None:
        return functools.partial(
            custom_op, name, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    names = list_tags(tags)
    written = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
    text = infer_schema(fn, mutates_args=written, tags=names) if schema is None else schema
    namespace, _, opname = name.partition("::")
    made = CustomOpDef(namespace, opname, text, fn, names)
    if schema is not None:
        declared = {each.name for each in made.op.schema.arguments if each.is_write}
        if declared != set(written):
            made._destroy()
            raise dc.SchemaError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}`. The schema "
                f"suggests that the op mutates {declared or '{}'} which is different from what was provided to us in "
                "`mutates_args`. Please make these consistent."
            )
    try:
        made.register_kernel(device_types)(fn)
    except BaseException:
        made._destroy()
        raise
    return made


def find_definition(op: Any) -> CustomOpDef | None:
    """Return the ``CustomOpDef`` of an operator or its name, or None where it was defined otherwise."""
    name = op if isinstance(op, str) else getattr(op, "name", None)
    found = op if isinstance(op, CustomOpDef) else dc.registry.custom_ops.get(name or "")
    return found if isinstance(found, CustomOpDef) else None


class CustomOpDef:
    """An operator that was made of a function, and its registrations; calling it calls the operator.

    Made by `custom_op` (source: ``torch.library.CustomOpDef``).
    """

    def __init__(
        self,
        namespace: str,
        name: str,
        schema: str,
        fn: Callable[..., Any],
        tags: str | Iterable[str] | None = None,
    ) -> None:
        self._namespace, self._name, self._schema = namespace, name, schema
        self._tags = list_tags(tags)
        self._init_fn = fn
        self._backend_fns: dict[str | None, Callable[..., Any]] = {}
        self._abstract_fn: Callable[..., Any] | None = None
        self._setup_context_fn: Callable[..., Any] | None = None
        self._backward_fn: Callable[..., Any] | None = None
        self._torch_dispatch_fns: dict[type, Callable[..., Any]] = {}
        self._vmap_fn: Callable[..., Any] | None = None
        self._autocast_dtype: dict[str, Any] = {}
        self._disabled_kernel: set[str | None] = set()
        self._selects_device = False
        self.__signature__ = inspect.signature(fn)
        #: The place of the definition.
        self.origin = find_caller()
        older = dc.registry.custom_ops.get(self._qualname)
        if older is not None:
            older.close()
        self._lib = Library(namespace, "FRAGMENT")
        try:
            self._lib.define(f"{name}{schema}", tags=list_tags((_COMPLIANT, *self._tags)))
            self._lib._open().document(self._document)
            #: The operator's overload.
            self.op: Any = dc.registry.get(self._qualname).op
            self._register()
        except BaseException:
            self._lib._destroy()
            raise
        dc.registry.custom_ops[self._qualname] = self

    def _register(self) -> None:
        """Register what every such operator has: a fake, and a kernel under Autograd."""
        if has_keyword_tensors(self.op.schema) and "out" not in self._tags:
            raise NotImplementedError(
                f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {self._schema}"
            )
        library = self._lib.m
        assert library is not None
        self._lib._undo.append(register_fake_kernel(library, self._qualname, self._run_fake))
        kernel = make_autograd_kernel(lambda: (self._backward_fn, self._setup_context_fn), self._init_fn, self._tags)
        self._lib.impl(self._name, kernel, "Autograd")

    def _document(self, name: str, overload: str | None) -> str | None:
        """Return the function's docstring for the operator that is made of it."""
        own = self.op.schema.name
        is_own = name == own.packet and overload in (None, own.overload or "default")
        return inspect.getdoc(self._init_fn) if is_own else None

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _opoverload(self) -> Any:
        return self.op

    @property
    def name(self) -> str:
        """Return the operator's full name."""
        return self._qualname

    def close(self) -> None:
        """Take the operator and everything that was registered through this object back."""
        if dc.registry.custom_ops.get(self._qualname) is self:
            del dc.registry.custom_ops[self._qualname]
        self._lib._destroy()

    _destroy = close

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""
        return self.op(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: str | Iterable[str] | None, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register a kernel, a function of tensors, for devices, None for every one. A decorator without ``fn``.

        Raises ``ValueError`` for an operator without tensors and without an argument ``device``, ``RuntimeError`` for an
        unknown device.
        """
        if fn is None:
            self._check_device_argument(device_types)
            return functools.partial(self.register_kernel, device_types)
        self._check_device_argument(device_types)
        for device in as_list(device_types):
            is_first = device not in self._backend_fns
            self._backend_fns[device] = fn
            if is_first:
                key = key_of_device(device)
                kernel = check_results(self, device)
                self._lib.impl(self._name, kernel, key)
        return fn

    def _check_device_argument(self, device_types: object) -> None:
        """Refuse devices for an operator whose calls belong to none; those with an argument ``device`` go by it."""
        schema = self.op.schema
        if device_types is None or schema.tensor_arguments:
            return
        place = find_device_argument(schema)
        if place is None:
            raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")
        if not self._selects_device:
            self._selects_device = True
            self._lib.impl(self._name, select_device(self, place), "BackendSelect")

    def _find_kernel(self, device: str | None) -> Callable[..., Any]:
        """Return the function that serves a device's calls: the operator's own where the device's kernel is disabled."""
        return self._init_fn if device in self._disabled_kernel else self._backend_fns[device]

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the operator's effect on shapes and dtypes, as a function of tensors without data."""
        if found := [f"torch.Tag.{each}" for each in ("inplace", "out") if each in self._tags]:
            warnings.warn(
                f"{self._qualname} is tagged with {found[0]}, so that its written arguments are its results: it needs no "
                "fake, and one that is registered has to return them",
                UserWarning,
                stacklevel=2,
            )
        self._abstract_fn = fn
        return fn

    def _run_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is not None:
            return self._abstract_fn(*args, **kwargs)
        schema = self.op.schema
        if "out" in self._tags:
            written = tuple(kwargs[each.name] for each in schema.arguments if each.is_write)
            return written[0] if len(written) == 1 else written
        if "inplace" in self._tags:
            return args[0]
        if schema.is_mutable and not schema.returns:
            return None
        name = getattr(self._init_fn, "__name__", self._name)
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{name}.register_fake` to add an fake impl."
        )

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register the operator's handling by a mode or subclass with ``__torch_dispatch__``. A decorator without ``fn``.

        ``fn(cls_or_mode, func, types, args, kwargs)`` has the place of ``__torch_dispatch__`` for this operator,
        in modes that are entered afterwards.
        """
        if fn is None:
            return functools.partial(self.register_torch_dispatch, torch_dispatch_class)
        if torch_dispatch_class not in self._torch_dispatch_fns:

            def rule(*args: Any, **kwargs: Any) -> Any:
                return self._torch_dispatch_fns[torch_dispatch_class](*args, **kwargs)

            self._lib._register_torch_dispatch_rule(self._name, torch_dispatch_class, rule)
        self._torch_dispatch_fns[torch_dispatch_class] = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register the formula of the gradients: ``backward(ctx, *grads)``, and what it keeps of a call.

        ``setup_context(ctx, inputs, output)`` is called after the operator, with ``keyword_only_inputs`` too where there are
        any. Raises ``RuntimeError`` for an operator that writes to an argument.
        """
        schema = self.op.schema
        if "out" in self._tags:
            raise LibraryError(
                f"Cannot register autograd formula for {self}: Out variants do not support autograd. "
                f"Got operator {self._qualname} with schema: {schema}"
            )
        if schema.is_mutable:
            raise LibraryError(
                f"Cannot register autograd formula for non-functional operator {self} with schema {schema}. Please "
                "create a functional operator and register an autograd formula for that."
            )
        self._backward_fn, self._setup_context_fn = backward, setup_context

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Register the rule by which ``vmap`` calls the operator: ``func(info, in_dims, *args, **kwargs)``.

        It returns the results and where the batch is in them; see `dispatch_core.register_vmap`. A decorator without
        ``func``. Registering again replaces the rule.
        """
        if func is None:
            return self.register_vmap
        is_first = self._vmap_fn is None
        self._vmap_fn = func
        if is_first:
            with as_torch_error():
                dc.register_vmap(self.op, self._run_vmap, lib=self._lib._open())
        return func

    def _run_vmap(self, *args: Any, **kwargs: Any) -> Any:
        assert self._vmap_fn is not None
        return self._vmap_fn(*args, **kwargs)

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """Register the dtype to which floating-point tensors are cast where autocast is on for a device.

        The first dtype for a device stays, as in torch. Raises ``ValueError`` for a device without autocast.
        """
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        autocast_key(device_type)
        if device_type not in self._autocast_dtype:
            self._autocast_dtype[device_type] = cast_inputs
            with as_torch_error():
                dc.register_autocast(self.op, device_type, cast_inputs, lib=self._lib._open())

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Take the kernel for a device away, or give it back, until the block ends.

        The function that the operator was made of serves a device whose kernel is disabled, and a kernel that is registered
        in the block for such a device stays away until the block ends.
        """
        action = "enable" if enabled else "disable"
        was_disabled = device_type in self._disabled_kernel
        if device_type not in self._backend_fns:
            _log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.", action, device_type
            )
        if was_disabled is not enabled:
            _log.warning("Attempted to %s kernel for %s but it was already %sd.", action, device_type, action)
        (self._disabled_kernel.discard if enabled else self._disabled_kernel.add)(device_type)
        try:
            yield
        finally:
            (self._disabled_kernel.add if was_disabled else self._disabled_kernel.discard)(device_type)


_maybe_get_opdef = find_definition
OPDEFS = dc.registry.custom_ops
