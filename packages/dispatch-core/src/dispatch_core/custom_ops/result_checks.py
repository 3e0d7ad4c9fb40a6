"""Checks of the results of a custom operator's function: they fit the schema, and none shares memory with an input."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

from ..arrays.access import storage_of, to_data
from ..arrays.frontend import frontend_of
from ..arrays.owners import ARRAY_TYPES, is_tensor
from ..calls.signature import CallSignature, Result, bad_count, bad_list
from ..calls.traits import KernelTraits
from ..errors import CaptureError, KernelResultError
from ..schema.check import checker


def check_results(fn: Callable[..., Any], signature: CallSignature, *, composite: bool) -> Callable[..., Any]:
    """Return ``fn`` with its results held against the schema: their number and types, and that none is an input.

    A ``composite`` sees the caller's arguments and returns the call's results; else a backend's boundary stands between.
    """
    others = [checker(item.type, is_tensor) for item in signature.schema.returns]

    def check(found: Any, values: tuple[Any, ...]) -> None:
        inputs: dict[Hashable, str] = {}
        first = None
        for index, tensor in signature.tensors(values):
            inputs[storage_of(tensor)] = f"argument {signature.parameters[index].name!r}"
            first = tensor if first is None else first
        if found is not None and not signature.results:
            raise bad_count(signature.name, 0, found)
        for index, (result, value) in enumerate(zip(signature.results, signature.unpack(found), strict=True)):
            if result.is_list and not isinstance(value, list | tuple):
                raise bad_list(signature.name, value)
            if result.kind == "other":
                _check_other(signature, index, others[index], value)
            if signature.leaves_out(index, values):
                continue
            for item in value if result.is_list else (value,):
                if result.kind != "other" and not (item is None and result.is_optional):
                    _check_tensor(
                        signature, result, index, item, first if composite else None, inputs, values, composite
                    )

    @functools.wraps(fn)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        try:
            found = fn(*args, **kwargs)
        except CaptureError as error:
            if not hasattr(error, "__notes__"):
                error.add_note(
                    f"Hint: a captured function records the operators that {signature.name} calls; where it reads"
                    " values, register it by custom_op(..., device_types=...), which takes arrays and is one step"
                )
            raise
        values = (*args, *kwargs.values())
        check(found, values)
        if composite and signature.writes:
            # As the boundary does for a backend's kernels.
            signature.report_writes(_report_write, values)
        return found

    # See Note [Results of a composite below Autograd] in `runners`.
    return KernelTraits(answers_for_results=True)(kernel)


def _check_other(signature: CallSignature, index: int, check: Callable[[object], object], value: object) -> None:
    try:
        check(value)
    except TypeError as error:
        fault = KernelResultError(f"{signature.name}: result {index} {error}")
    else:
        return
    raise fault


def _check_tensor(
    signature: CallSignature,
    result: Result,
    index: int,
    item: Any,
    like: Any,
    seen: dict[Hashable, str],
    values: tuple[Any, ...],
    composite: bool,
) -> None:
    """Check one tensor among the results; ``like`` is a tensor whose frontend it must have, None under a backend's key."""
    if type(to_data(item)) not in ARRAY_TYPES:
        # A backend's boundary makes arrays of other values where it can, and refuses the rest; in a composite nothing does.
        if composite:
            raise KernelResultError(
                f"{signature.name}: result {index} is {type(item).__module__}.{type(item).__qualname__} where the schema"
                " promises a Tensor"
            )
        return
    if like is not None and frontend_of(item) is not frontend_of(like):
        raise KernelResultError(
            f"{signature.name}: result {index} is {type(item).__qualname__}, but the arguments are"
            f" {type(like).__qualname__}",
            hint="dispatch_core.wrap_like makes a tensor of an array; a function written for a device's arrays is registered"
            " for that device, with device_types",
        )
    if result.kind == "view":
        return
    if result.kind == "self":
        source = values[result.source]
        if item is not source and not isinstance(source, list | tuple) and like is not None:
            raise KernelResultError(
                f"{signature.name}: result {index} is not argument {signature.parameters[result.source].name!r}, which"
                " the schema promises"
            )
        return
    place = storage_of(item)
    if place in seen:
        raise KernelResultError(
            f"{signature.name}: result {index} is {seen[place]}, or shares its memory, where the schema promises a Tensor"
            " of its own",
            hint="return a copy; or declare views, and arguments that are returned, with schema=",
        )
    seen[place] = f"result {index}"


def _report_write(tensor: Any) -> None:
    """Report to the frontend of a tensor that it was written to."""
    frontend = frontend_of(tensor)
    if frontend is not None and frontend.writes is not None:
        frontend.writes.note_write(tensor)
