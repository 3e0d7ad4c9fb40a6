"""The kernels of operators that are made of functions: their results are checked, and their device is found."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import dispatch_core as dc

from ..autograd.graph import increment_version
from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor
from .registration_keys import key_of_device

if TYPE_CHECKING:
    from .operators import CustomOpDef
else:
    CustomOpDef = import_lazily("torchlike.library.operators", "CustomOpDef")

__all__ = ["check_results", "find_device_argument", "iterate_tensors", "requires_grad", "select_device"]


def iterate_tensors(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among values, those in lists too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from iterate_tensors(value)


def requires_grad(*args: Any, **kwargs: Any) -> bool:
    """Return whether a tensor among the arguments, or in a list among them, requires grad."""
    return any(each.requires_grad for each in iterate_tensors((*args, *kwargs.values())))


def check_results(definition: CustomOpDef, device: str | None) -> Callable[..., Any]:
    """Return the kernel of an operator for a device: its function, with results held against the operator's promises."""
    schema, tags, name = definition.op.schema, definition._tags, definition._name
    written = [(index, each) for index, each in enumerate(schema.arguments) if each.is_write]
    outs = [each.name for _, each in written if each.kwarg_only]
    is_view = any(each.alias is not None and not each.alias.is_write for each in schema.returns)

    def refuse(what: str) -> RuntimeError:
        module = inspect.getmodule(definition._backend_fns[device])
        return RuntimeError(f"{name} (with implementation in {module}): {what}")

    if is_view and any("SymInt" in str(each.type) for each in schema.arguments):
        return _refuse_view

    def kernel(*args: Any, **kwargs: Any) -> Any:
        found = definition._find_kernel(device)(*args, **kwargs)
        if "inplace" in tags:
            if found is not args[0]:
                raise refuse("An operator tagged with torch.Tag.inplace must return its first argument.")
        elif "out" in tags:
            results = found if isinstance(found, tuple) else (found,)
            if len(results) != len(outs) or any(
                each is not kwargs[out] for each, out in zip(results, outs, strict=True)
            ):
                raise refuse("An operator tagged with torch.Tag.out must return its mutable keyword-only arguments.")
        elif not is_view:
            _check_memory(args, kwargs, found, refuse)
        for index, argument in written:
            given = args[index] if index < len(args) else kwargs.get(argument.name)
            for each in iterate_tensors((given,)):
                increment_version(each)
        return found

    return dc.KernelTraits(stands_for=lambda: definition._backend_fns[device])(kernel)


def _refuse_view(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("Custom ops that are views do not support SymInt. Use int in the schema.")


def _check_memory(
    args: tuple[Any, ...], kwargs: dict[str, Any], found: Any, refuse: Callable[[str], RuntimeError]
) -> None:
    """Refuse results that share memory with an argument or with each other."""
    places = {dc.storage_of(each) for each in iterate_tensors((*args, *kwargs.values()))}
    for each in iterate_tensors((found,)):
        place = dc.storage_of(each)
        if place in places:
            raise refuse(
                "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not "
                "alias any inputs to this custom operator or other returns. The most common way to trigger this error is if "
                "we have y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending "
                "output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
            )
        places.add(place)


def find_device_argument(schema: dc.FunctionSchema) -> int | None:
    """Return the place of the argument ``device`` of a schema, None where there is none, or may be none in a call.

    >>> find_device_argument(dc.FunctionSchema.parse("f(int n, Device device) -> Tensor"))
    1
    """
    places = (
        index for index, each in enumerate(schema.arguments) if each.name == "device" and str(each.type) == "Device"
    )
    return next(places, None)


def select_device(definition: CustomOpDef, index: int) -> Callable[..., Any]:
    """Return the kernel under BackendSelect of an operator without tensors, which goes by its argument ``device``."""
    argument = definition.op.schema.arguments[index]

    def select(*args: Any, **kwargs: Any) -> Any:
        given = args[index] if index < len(args) else kwargs.get(argument.name, argument.value)
        device = dc.Device(given).type
        if device not in definition._backend_fns and None not in definition._backend_fns:
            raise RuntimeError(
                f"{definition._name} does not have a kernel registered for {device}. Please use register_kernel to do so."
            )
        return definition.op.redispatch(dc.DispatchKeySet([dc.DispatchKey[key_of_device(device)]]), *args, **kwargs)

    return select
