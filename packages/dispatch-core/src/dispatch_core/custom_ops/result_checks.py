"""What a custom operator's function may return: results that fit the schema, and no input in disguise."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

from ..arrays.access import storage_of, to_data
from ..arrays.frontend import frontend_of
from ..arrays.owners import ARRAY_TYPES, is_tensor
from ..calls.boundary import Plan, Result, bad_count, bad_list
from ..errors import KernelResultError
from ..schema.check import checker

__all__ = ["check_results"]


def check_results(fn: Callable[..., Any], plan: Plan, *, composite: bool) -> Callable[..., Any]:
    """Return ``fn`` with its results held against the schema: their number and types, and that none is an input.

    A ``composite`` sees the caller's arguments and returns the call's results; else a backend's boundary stands between.
    """
    others = [checker(item.type, is_tensor) for item in plan.schema.returns]

    def check(found: Any, values: tuple[Any, ...]) -> None:
        inputs: dict[Hashable, str] = {}
        first = None
        for parameter, value in zip(plan.parameters, values, strict=False):
            for tensor in value if parameter.tensors in ("list", "optional_list") else (value,):
                if parameter.tensors and tensor is not None:
                    inputs[storage_of(tensor)] = f"argument {parameter.name!r}"
                    first = tensor if first is None else first
        count = len(plan.results)
        if (
            count != 1
            and (count or found is not None)
            and not (isinstance(found, tuple | list) and len(found) == count)
        ):
            raise bad_count(plan.name, count, found)
        for index, (result, value) in enumerate(
            zip(plan.results, (found,) if count == 1 else found or (), strict=True)
        ):
            if result.is_list and not isinstance(value, list | tuple):
                raise bad_list(plan.name, value)
            if result.kind == "other":
                _check_other(plan, index, others[index], value)
            for item in value if result.is_list else (value,):
                if result.kind != "other" and not (item is None and result.is_optional):
                    _check_tensor(plan, result, index, item, first if composite else None, inputs, values, composite)

    @functools.wraps(fn)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        found = fn(*args, **kwargs)
        values = (*args, *kwargs.values())
        check(found, values)
        if composite and plan.writes:
            _tell_written(plan, values)
        return found

    # See Note [Results of a composite below Autograd] in `runners`.
    kernel.answers_for_results = True  # type: ignore[attr-defined]
    return kernel


def _check_other(plan: Plan, index: int, check: Callable[[object], object], value: object) -> None:
    try:
        check(value)
    except TypeError as error:
        fault = KernelResultError(f"{plan.name}: result {index} {error}")
    else:
        return
    raise fault


def _check_tensor(
    plan: Plan,
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
                f"{plan.name}: result {index} is {type(item).__module__}.{type(item).__qualname__} where the schema promises"
                " a Tensor"
            )
        return
    if like is not None and frontend_of(item) is not frontend_of(like):
        raise KernelResultError(
            f"{plan.name}: result {index} is {type(item).__qualname__}, but the arguments are {type(like).__qualname__}",
            hint="dispatch_core.wrap_like makes a tensor of an array; a function written for a device's arrays is registered"
            " for that device, with device_types",
        )
    if result.kind == "view":
        return
    if result.kind == "self":
        source = values[result.source]
        if item is not source and not isinstance(source, list | tuple) and like is not None:
            raise KernelResultError(
                f"{plan.name}: result {index} is not argument {plan.parameters[result.source].name!r}, which the schema"
                " promises"
            )
        return
    place = storage_of(item)
    if place in seen:
        raise KernelResultError(
            f"{plan.name}: result {index} is {seen[place]}, or shares its memory, where the schema promises a Tensor of its"
            " own",
            hint="return a copy; or declare views, and arguments that are returned, with schema=",
        )
    seen[place] = f"result {index}"


def _tell_written(plan: Plan, values: tuple[Any, ...]) -> None:
    """Tell the frontend of every written argument, as the boundary does for a backend's kernels."""
    for index in plan.writes:
        for tensor in values[index] if isinstance(values[index], list | tuple) else (values[index],):
            frontend = None if tensor is None else frontend_of(tensor)
            if frontend is not None and frontend.mutated is not None:
                frontend.mutated(tensor)
