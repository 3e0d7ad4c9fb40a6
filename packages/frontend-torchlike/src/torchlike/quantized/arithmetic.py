"""Operators that torch computes on quantized tensors: limits, functions of numbers, averages, joins.

They are for tensors that are quantized as a whole; of channels the fallback computes them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType

from ..tensors.tensor import Tensor
from .fallback import compute, compute_dequantized, quantized_in
from .movements import call, map_results, on_integers, rearrange_integers
from .numbers import dequantize, make, quantize_number, requantize, saturate
from .tensor import Quantized, become, is_quantized, record_of, with_integers

Rule = Callable[..., Any]
_Q = ScalarType


def _of_whole(rule: Rule) -> Rule:
    """Return the rule for tensors that are quantized as a whole; those of channels go to the fallback."""

    def run(op: Any, *values: Any) -> Any:
        if any(record_of(each).axis is not None for each in quantized_in(values)):
            return compute_dequantized(op, *values)
        return rule(op, record_of(next(quantized_in(values))), *values)

    run.__name__ = rule.__name__
    return run


#: Operator → the numbers that its result lies between, of its arguments.
_LIMITS: Final[dict[str, Callable[..., tuple[Any, Any]]]] = {
    "relu": lambda: (0.0, None),
    "relu6": lambda: (0.0, 6.0),
    "hardtanh": lambda low=-1.0, high=1.0: (low, high),
    "clamp": lambda low=None, high=None: (low, high),
    "clip": lambda low=None, high=None: (low, high),
}


@_of_whole
def limit(op: Any, record: Quantized, self: Tensor, *rest: Any) -> Tensor:
    """Limit the integers, for functions that limit numbers."""
    name: str = op.packet.name.rpartition("::")[2]
    bounds = _LIMITS[name.removesuffix("_")](*rest)
    low, high = (None if each is None else _quantize(float(each), record) for each in bounds)
    limited = record.integers.clamp(low, high)
    if not name.endswith("_"):
        return with_integers(record, limited)
    record.integers.copy_(limited)
    return become(self, record)


def _quantize(value: float, record: Quantized) -> int:
    return quantize_number(value, record.scale, record.zero_point, record.dtype)


#: Operator → the parameters of its results, by dtype.
_UNIT: Final = {_Q.QUInt8: (1 / 256, 0), _Q.QInt8: (1 / 256, -128), _Q.QInt32: (2.0**-32, 0)}
_FIXED: Final = {
    "sigmoid": _UNIT,
    "hardsigmoid": _UNIT,
    "tanh": {_Q.QUInt8: (2 / 256, 128), _Q.QInt8: (2 / 256, 0), _Q.QInt32: (2.0**-31, 0)},
}


@_of_whole
def apply(op: Any, record: Quantized, *values: Any) -> Any:
    """Compute a function of each number, in blocks; some functions have parameters of their own."""
    fixed = _FIXED.get(op.packet.name.rpartition("::")[2])
    scale, zero_point = (record.scale, record.zero_point) if fixed is None else fixed[record.dtype]
    quantize = partial(make, scale=scale, zero_point=zero_point, dtype=record.dtype, in_blocks=True)
    return compute(op, values, quantize, in_blocks=True)


@_of_whole
def calculate(op: Any, record: Quantized, *values: Any) -> Any:
    """Compute with the numbers, and quantize the result as a whole."""
    return compute(op, values)


@_of_whole
def calculate_singly(op: Any, record: Quantized, *values: Any) -> Any:
    """Compute with the numbers, and quantize the result as a whole, with the scale in float32."""
    scale = float(np.float32(record.scale))
    return compute(op, values, partial(make, scale=scale, zero_point=record.zero_point, dtype=record.dtype))


def compare(op: Any, *values: Any) -> Any:
    """Compare the numbers; nothing of the result is quantized."""
    return compute(op, values)


def _as_floats(record: Quantized) -> Callable[[Tensor], Tensor]:
    wide = _Q.Double if record.dtype is _Q.QInt32 else _Q.Float
    return lambda integers: integers.to(wide)


@_of_whole
def choose(op: Any, record: Quantized, *values: Any) -> Any:
    """Choose among the integers, which an operator of floating-point numbers does."""
    enter = _as_floats(record)
    found = on_integers(op, values, enter)
    dtype = enter(record.integers.new_empty(())).dtype
    return map_results(found, dtype, lambda each: with_integers(record, each.to(record.integers.dtype)))


@_of_whole
def average(op: Any, record: Quantized, *values: Any) -> Any:
    """Average what the integers are above zero's, and round."""
    enter = _as_floats(record)
    found = on_integers(op, values, lambda integers: enter(integers) - record.zero_point)
    return with_integers(record, saturate((found + float(record.zero_point)).round(), record.dtype))


@_of_whole
def deviate(op: Any, record: Quantized, self: Tensor, *rest: Any) -> Any:
    """Compute the deviation of the numbers in float64, and quantize it as a whole."""
    return requantize(call(op, (dequantize(record).double(), *rest)), record)


@_of_whole
def take_mean(op: Any, record: Quantized, self: Tensor, *rest: Any) -> Any:
    """Average the integers of the last dimensions, the numbers of others, as torch does."""
    dims = rest[0] if rest and isinstance(rest[0], (list, tuple)) else None
    inner = not dims or {each % self.dim() for each in dims} == {*range(self.dim() - len(dims), self.dim())}
    return average(op, self, *rest) if inner and self.is_contiguous() else compute(op, (self, *rest))


@_of_whole
def interpolate(op: Any, record: Quantized, *values: Any) -> Any:
    """Interpolate the integers, and round."""
    found = on_integers(op, values, _as_floats(record))
    return with_integers(record, saturate((found - record.zero_point + record.zero_point).round(), record.dtype))


@_of_whole
def join(op: Any, record: Quantized, tensors: Any, *rest: Any) -> Any:
    """Join tensors with the parameters of the first; those with others are quantized again."""
    joined = [align(each, record).integers for each in tensors]
    return with_integers(record, call(op, (joined, *rest)))


def align(tensor: Tensor, record: Quantized) -> Quantized:
    """Return the record of a tensor with the parameters of another."""
    if not is_quantized(tensor):
        raise RuntimeError("expected all tensors to be quantized\nHint: quantize_per_tensor() makes one")
    own = record_of(tensor)
    if own.dtype is not record.dtype:
        raise RuntimeError(f"All dtypes must be the same: there are {record.dtype!r} and {own.dtype!r}")
    if (own.scale, own.zero_point) == (record.scale, record.zero_point):
        return own
    return record_of(requantize(dequantize(own), record))


@_of_whole
def write_number(op: Any, record: Quantized, self: Tensor, place: Any, value: Any) -> Any:
    """Put a number, which is quantized, in some places."""
    if isinstance(value, Tensor):
        quantized: Any = _put(value.to(self.device), record)
    else:
        quantized = _quantize(float(value or 0), record)
    return rearrange_integers(op, self, record, call(op, (record.integers, place, quantized)))


def _put(value: Tensor, record: Quantized) -> Tensor:
    if is_quantized(value):
        return align(value, record).integers
    return record_of(requantize(value, record)).integers


@_of_whole
def put(op: Any, record: Quantized, self: Tensor, indices: Any, value: Tensor, *rest: Any) -> Any:
    """Put numbers in some places, which are quantized."""
    found = call(op, (record.integers, indices, _put(value.to(self.device), record), *rest))
    return rearrange_integers(op, self, record, found)
