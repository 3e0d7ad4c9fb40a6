"""Checking an operator against its registration: ``opcheck`` (source: ``torch.library.opcheck``)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from ..arrays.access import dtype, is_described, shape, storage_of, strides, to_data
from ..arrays.frontend import frontend_of
from ..arrays.owners import device_key, is_tensor, mask_of
from ..calls import conformance
from ..calls.conformance import find_strange_memory
from ..calls.signature import CallSignature
from ..devices import Device
from ..errors import OpCheckError
from ..keys.table import AUTOGRAD, DispatchKey, keys_of
from ..operators import result_watch
from ..operators.kernel_handle import as_overload
from ..operators.kernel_names import describe_kernel
from ..operators.overloads import OpOverload
from ..operators.registries import registry as process_registry
from ..schema.check import bind, checker
from ..schema.declared_dtypes import is_dtype
from ..tracebacks import api_boundary
from .definition import AnyOperator

_SUCCESS: Final = "SUCCESS"


@api_boundary
def opcheck(
    op: AnyOperator,
    args: Iterable[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Iterable[str] | None = None,
    raise_exception: bool = True,
) -> dict[str, Any]:
    """Call an operator on copies of the arguments and check its effects and results against its registration.

    * ``test_schema``: it writes to the arguments that the schema says and no others, and its results share memory with
      arguments and with each other only where the schema says so;
    * ``test_autograd_registration``: if an argument requires grad, there is a kernel for its Autograd key;
    * ``test_faketensor``: on meta stand-ins for the arguments, it gives results of the same shape, strides and dtype.

    ``test_utils`` names some of them. Returns "SUCCESS" or the error for each; with ``raise_exception`` the first error,
    an ``OpCheckError`` that names the check, is raised. On arguments without data (device meta) there is nothing to check.

    >>> from dispatch_core import custom_op, Registry
    >>> double = custom_op("demo::double", lambda x: 2 * x, mutates_args=(), schema="(int x) -> int", registry=Registry())
    >>> opcheck(double, (4,), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    overload = as_overload(op)
    names = list(_CHECKS) if test_utils is None else [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = [name for name in names if name not in _CHECKS]
    if unknown:
        raise OpCheckError(f"opcheck has no check {unknown[0]!r}", hint=f"choose from {', '.join(_CHECKS)}")
    signature = overload._entry.signature
    if signature is None:
        raise OpCheckError(f"{overload.name} has no schema to check", hint="Library.define gives it one")
    given = bind(signature.schema, tuple(args), kwargs or {}, is_tensor)
    results: dict[str, Any] = {}
    for name in names:
        # In one go, so that arguments which are the same object stay so.
        copied: dict[int, Any] = {}
        values = tuple(_copy(value, copied) for value in given)
        try:
            if not any(_key_of(tensor) is DispatchKey.Meta for _, tensor in signature.tensors(values)):
                with result_watch.pause():
                    _CHECKS[name](overload, signature, values)
        except Exception as error:  # noqa: BLE001  # any error of a kernel is a result of the check
            failure = OpCheckError(
                f"opcheck of {overload.name}: {name} failed: {error}"
                if isinstance(error, _FailureError)
                else f"opcheck of {overload.name}: {name} failed with {type(error).__name__}: {error}"
            )
            failure.__cause__ = None if isinstance(error, _FailureError) else error
            results[name] = failure
        else:
            results[name] = _SUCCESS
            continue
        if raise_exception:
            raise results[name]
    return results


def _copy(value: Any, copied: dict[int, Any]) -> object:
    """Return a copy of an argument: tensors with memory of their own, leaves where they require grad."""
    if isinstance(value, list | tuple):
        return type(value)(_copy(item, copied) for item in value)
    frontend = frontend_of(value)
    if frontend is None:
        return copy.deepcopy(value, copied)
    tensor = copied.get(id(value))
    if tensor is None:
        tensor = copied[id(value)] = frontend.wrap(copy.deepcopy(_data_of(value), copied))
        tensor._dispatch_mask = value._dispatch_mask
        needs_grad = getattr(value, "requires_grad", None)
        if needs_grad is not None:
            tensor.requires_grad = needs_grad
    return tensor


def _data_of(value: object) -> object:
    """Return a tensor's array, with all in it that a pipeline has recorded."""
    from ..pipelines import materialize  # most programs open none

    return materialize(value)


class _FailureError(Exception):
    """The finding of a check."""


class _ForeignDtypeError(Exception):
    """Arrays of a dtype that no operator library declares, and that meta refuses."""


def _call(op: OpOverload, signature: CallSignature, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Call the operator and return its results as a tuple, held against the schema."""
    positional, keywords = signature.split(values)
    returned = op(*positional, **keywords)
    returns = signature.schema.returns
    found = (returned,) if len(returns) == 1 else () if returned is None else returned
    if not isinstance(found, tuple | list) or len(found) != len(returns):
        raise _FailureError(
            f"it returned {type(returned).__qualname__} where the schema promises {len(returns)} results"
        )
    for index, (item, value) in enumerate(zip(returns, found, strict=True)):
        try:
            checker(item.type, is_tensor)(value)
        except TypeError as error:
            raise _FailureError(f"result {index} {error}") from None
    return tuple(found)


def _key_of(tensor: object) -> DispatchKey:
    return next(key for key in keys_of(mask_of(tensor)) if key.owns_arrays)


def _contents(tensor: object) -> bytes:
    """Return an array's elements as bytes, to see whether they change."""
    data = _data_of(tensor)
    read = process_registry.find_entry("prims::device_get")
    if hasattr(data, "tobytes"):
        return bytes(data.tobytes())
    if read is not None and _key_of(data) in read.kernels:
        return bytes(read.op(data).tobytes())
    import pickle  # slow to import, and rarely needed

    return pickle.dumps(data)


def _check_schema(op: OpOverload, signature: CallSignature, values: tuple[Any, ...]) -> None:
    tensors = list(signature.tensors(values))
    before = [_contents(tensor) for _, tensor in tensors]
    places: dict[Hashable, set[int]] = {}
    for index, tensor in tensors:
        places.setdefault(storage_of(tensor), set()).add(index)
    written = {storage_of(tensor) for index, tensor in tensors if signature.parameters[index].writes}
    held = [storage_of(tensor) for _, tensor in tensors]
    found = _call(op, signature, values)
    for (index, tensor), contents, place in zip(tensors, before, held, strict=True):
        # An argument that shares memory with a written one changes with it.
        if place not in written and _contents(tensor) != contents:
            raise _FailureError(
                f"argument {signature.parameters[index].name!r} was written to, but the schema does not say so"
            )
    returned: dict[Hashable, int] = {}
    for index, tensor in signature.result_tensors(found):
        result, place = signature.results[index], storage_of(tensor)
        if result.kind == "fresh":
            _check_fresh(signature, index, place, places, returned)
        elif result.kind == "self" and all(tensor is not argument for i, argument in tensors if i == result.source):
            name = signature.parameters[result.source].name
            raise _FailureError(f"result {index} is not argument {name!r}, but the schema says that it is")
        elif result.kind == "view":
            strangers = places.get(place, {result.source}) - {result.source}
            if strangers and result.source not in places[place]:
                names = ", ".join(repr(signature.parameters[i].name) for i in sorted(strangers))
                raise _FailureError(
                    f"result {index} shares memory with argument {names}, not with the one it is a view of"
                )
    strange = find_strange_memory(signature, op._entry.tags, found, values, is_written=True)
    if strange is not None:
        raise _FailureError("result {} {}, where the schema promises it".format(*strange))


def _check_fresh(
    signature: CallSignature,
    index: int,
    place: Hashable,
    places: dict[Hashable, set[int]],
    returned: dict[Hashable, int],
) -> None:
    if place in places:
        names = ", ".join(repr(signature.parameters[i].name) for i in sorted(places[place]))
        raise _FailureError(f"result {index} shares memory with argument {names}, but the schema does not say so")
    if place in returned:
        raise _FailureError(f"results {returned[place]} and {index} share memory, but the schema does not say so")
    returned[place] = index


def _check_autograd(op: OpOverload, signature: CallSignature, values: tuple[Any, ...]) -> None:
    if all(result.kind == "other" for result in signature.results) and not signature.writes:
        return
    for index, tensor in signature.tensors(values):
        mask = getattr(tensor, "_dispatch_mask", 0) & AUTOGRAD
        if not mask or not getattr(tensor, "requires_grad", True):
            continue
        for key in keys_of(mask):
            slot = op._entry.slot(key)
            if slot.rule in ("missing", "backend fallback"):
                raise _FailureError(
                    f"argument {signature.parameters[index].name!r} requires grad, but the operator has no kernel for"
                    f" {key.name} ({slot.rule}): register_autograd gives it one"
                )


def _check_fake(op: OpOverload, signature: CallSignature, values: tuple[Any, ...]) -> None:
    if not all(is_described(tensor) for _, tensor in signature.tensors(values)):
        return  # A fake tells shape and dtype, which such arrays do not have.
    device_key("meta")
    given = zip(signature.parameters, values, strict=True)
    try:
        stand_ins = tuple([_stand_in(value, parameter.tensors, parameter.type) for parameter, value in given])
    except _ForeignDtypeError:
        return  # Meta has no arrays of such a dtype.
    real = list(signature.result_tensors(_call(op, signature, values)))
    fake = list(signature.result_tensors(_call(op, signature, stand_ins)))
    if [index for index, _ in real] != [index for index, _ in fake]:
        raise _FailureError(f"the real results have {len(real)} tensors, the fake ones {len(fake)}")
    for (index, expected), (_, actual) in zip(real, fake, strict=True):
        differs = conformance.compare_with(to_data(expected), to_data(actual))
        if differs is not None:
            what, got, wanted = differs
            key = _key_of(expected)
            whose = describe_kernel(key, op._entry.slot(key).registration)
            raise _FailureError(f"result {index} has {what} {got}, but its fake {wanted}\n{whose}")
        if _key_of(actual) is not DispatchKey.Meta:
            raise _FailureError(f"the fake of result {index} is on another device than meta")


def _stand_in(value: object, kind: str, type_name: str) -> object:
    """Return an argument for a call on meta: arrays without data for arrays, meta for a device."""
    if isinstance(value, list | tuple) and kind:
        return [_stand_in(item, "tensor", type_name) for item in value]
    if type_name.rstrip("?") == "Device":
        return Device("meta")
    if not kind or value is None:
        return value
    make = conformance.find_stand_in_maker()
    if make is None:
        raise _FailureError("the backend for device 'meta' cannot make stand-ins: its ArrayType has no 'empty'")
    try:
        made = make(shape(value), strides(value), dtype(value))
    except TypeError as error:
        if is_dtype(dtype(value)):
            raise
        raise _ForeignDtypeError from error
    frontend = frontend_of(value)
    return made if frontend is None else frontend.wrap(made)


_CHECKS: Final[dict[str, Callable[[OpOverload, CallSignature, tuple[Any, ...]], None]]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
}
