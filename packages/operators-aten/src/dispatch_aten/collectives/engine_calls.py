"""Calls of a device's engine: arrays as it takes them, and what becomes of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import materialize
from dispatch_core.runtime import note_write, run_at_once

from ..dtypes import ScalarType
from ..errors import OperatorError
from .counting import count
from .deferral import after
from .engine_results import check_list, check_made, check_written
from .groups import ProcessGroup, connection_of

__all__ = [
    "EngineCalls",
    "apply_at_once",
    "as_dense",
    "as_numbers",
    "count_write",
    "from_numbers",
    "is_dense",
    "number_shape",
    "reduce",
    "wrap_as",
]

_aten: Final = dc.ops.aten


def is_dense(array: Any) -> bool:
    """Return whether an array lies row-major in one piece."""
    if not dc.has_strides(array) or not prod(dc.shape(array)):
        return True
    step = 1
    for length, stride in zip(reversed(dc.shape(array)), reversed(dc.strides(array)), strict=True):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def as_numbers(array: Any) -> Any:
    """Return an array of numbers in at least one dimension: a view of the same memory, where there is any."""
    if not dc.shape(array):
        array = _aten.view(array, [1])
    dtype = dc.dtype(array)
    if dtype is ScalarType.Bool:
        return _aten.view.dtype(array, ScalarType.Char)
    return _aten.view_as_real(array) if dtype.is_complex else array


def number_shape(shape: Sequence[int], dtype: ScalarType) -> list[int]:
    """Return the shape that the numbers of an array have."""
    return [*(shape or (1,)), *((2,) if dtype.is_complex else ())]


def from_numbers(array: Any, dtype: ScalarType, shape: Sequence[int]) -> Any:
    """Return an array of a dtype and a shape of the numbers that represent it."""
    if dtype is ScalarType.Bool:
        array = _aten.view.dtype(array, dtype)
    elif dtype.is_complex:
        array = _aten.view_as_complex(array)
    return _aten.view(array, list(shape))


class EngineCalls:
    """The calls of an engine for one array: what it is given, and what becomes of its result."""

    def __init__(self, group: ProcessGroup, array: Any) -> None:
        self.device = dc.device(array)
        self.engine, self.connection = connection_of(group, self.device)
        self.is_mutable = dc.is_mutable(array)
        self.dtype = dc.dtype(array)

    def run(self, name: str, array: Any, *how: object, shape: Sequence[int], into: Any = None) -> Any:
        """Call the engine, which makes an array of a shape; return it, or ``into`` with its elements."""
        given, result = as_dense(as_numbers(array)), None
        if self.is_mutable:
            fits = into is not None and is_dense(into)
            result = _aten.view(into, list(shape)) if fits else _aten.new_empty(array, list(shape))
        numbers = None if result is None else as_numbers(result)
        found = getattr(self.engine, name)(self.connection, given, *how, numbers)
        if numbers is not None:
            check_written(name, self.device, self.engine, found, numbers)
        else:
            check_made(name, self.device, self.engine, found, dc.dtype(given), number_shape(shape, self.dtype))
        if result is None:
            return from_numbers(found, self.dtype, shape)
        if into is None:
            return result
        if not is_dense(into):
            made = as_numbers(_aten.view(result, list(dc.shape(into))))
            after(lambda: _aten.copy_(as_numbers(into), made))
        return into

    def check_exchanged(self, found: object, numbers: Sequence[Any]) -> Sequence[Any]:
        """Return what the engine has returned for the arrays of numbers that it receives, once it was checked."""
        arrays = check_list("exchange", self.device, self.engine, found, len(numbers))
        for each, into in zip(arrays, numbers, strict=True):
            if self.is_mutable:
                check_written("exchange", self.device, self.engine, each, into)
            else:
                check_made("exchange", self.device, self.engine, each, dc.dtype(into), dc.shape(into))
        return arrays


def as_dense(array: Any) -> Any:
    """Return an array, or a copy of it, that lies row-major in one piece."""
    return array if is_dense(array) else _aten.clone(array, memory_format=0)


def _reduction_of(op: str, dtype: ScalarType) -> str:
    """Return the reduction that an engine is asked for."""
    if dtype is ScalarType.Bool:
        return {"sum": "max", "product": "min"}.get(op, op)
    return "sum" if op == "avg" else op


def reduce(name: str, group: ProcessGroup, array: Any, op: str, shape: Sequence[int], into: Any) -> Any:
    """Combine the arrays of all ranks by a function of the engine; the average is the sum, divided."""
    exchange = EngineCalls(group, array)
    found = exchange.run(name, array, _reduction_of(op, exchange.dtype), shape=shape, into=into)
    if op != "avg":
        return found
    if not exchange.is_mutable:
        return _aten.div(found, group.size)
    after(lambda: _aten.div_(as_numbers(found), group.size))
    return found


def apply_at_once(name: str, tensor: Any, function: Callable[[Any, Any], Any], into: Any = None) -> Any:
    """Call a function with the array of a tensor, and that of one that it writes to; return its result as such a tensor.

    The call is not recorded, see Note [Collectives in pipelines] in `operators`. Where arrays cannot be written to, the
    function makes a new one, which the tensor gets.
    """
    count(name)
    with run_at_once(f"dispatch::{name}"):
        array = materialize(tensor)
        target = None if into is None else materialize(into)
        if target is not None and dc.device(target) != dc.device(array):
            raise OperatorError(
                f"{name}: the result is on {dc.device(target)}, and what is exchanged on {dc.device(array)}"
            )
        found = function(array, target if target is not None and dc.is_mutable(target) else None)
    if into is None:
        return wrap_as(tensor, array, found)
    if not dc.is_mutable(target):
        found = _aten.view(found, list(dc.shape(into)))
        return _aten.copy_(into, wrap_as(into, target, found))
    return count_write(into)


def count_write(tensor: Any) -> Any:
    """Return a tensor that was written to, once its frontend has counted that."""
    note_write(tensor)
    return tensor


def wrap_as(tensor: Any, array: Any, found: Any) -> Any:
    """Return an array as a tensor, where the caller's is one."""
    return found if tensor is array else dc.wrap_like(tensor, found)
