"""Sums and products of quantized tensors, with each other and with numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from . import numbers
from .tensor import Quantized, become, is_quantized, record_of, wrap_quantized

Kernel = Callable[..., Any]


def expect(*tensors: Tensor) -> list[Quantized]:
    """Return the records of tensors that are quantized as a whole, with one dtype."""
    records: list[Quantized] = []
    for each in tensors:
        if not is_quantized(each):
            raise NotImplementedError(
                "Could not run an operator of 'quantized' with arguments from the 'CPU' backend.\n"
                "Hint: quantize_per_tensor() makes a quantized tensor"
            )
        record = record_of(each)
        if record.axis is not None:
            raise RuntimeError("Only per tensor quantization is supported\nHint: x.dequantize() has the numbers")
        if records and record.dtype is not records[0].dtype:
            raise RuntimeError(f"the dtypes of the operands differ: {records[0].dtype!r} and {record.dtype!r}")
        records.append(record)
    return records


def _add(one: Quantized, other: Quantized, scale: float, zero_point: int, relu: bool) -> Tensor:
    total = numbers.dequantize_in_blocks(one) + numbers.dequantize_in_blocks(other)
    if relu:
        total = total.clamp(min=0.0)
    return numbers.make(total, scale, zero_point, one.dtype, in_blocks=True)


def _mul(one: Quantized, other: Quantized, scale: float, zero_point: int, relu: bool) -> Tensor:
    wide = ScalarType.Int
    product = (one.integers.to(wide) - one.zero_point) * (other.integers.to(wide) - other.zero_point)
    factor = np.float32(one.scale) * np.float32(other.scale) * np.float32(numbers.invert(scale))
    made = numbers.saturate((product.to(ScalarType.Float) * float(factor)).round() + float(zero_point), one.dtype)
    made = made.clamp(min=zero_point) if relu else made
    return wrap_quantized(made, scale, zero_point, one.dtype)


def _add_number(self: Quantized, number: float, relu: bool) -> Tensor:
    low, high = self.dtype.bounds
    step = int(np.rint(number / self.scale))
    zero_point, scale, integers = self.zero_point - step, self.scale, self.integers
    if not low <= zero_point <= high:
        above = zero_point > high
        far = (zero_point - low) if above else (high - zero_point)
        scale, zero_point = far / float(high - low) * self.scale, high if above else low
        moved = (integers.to(ScalarType.Int) - self.zero_point + step).to(ScalarType.Double)
        factor = float(np.float32(self.scale) * np.float32(numbers.invert(scale)))
        integers = numbers.saturate((moved * factor).round() + float(zero_point), self.dtype)
    else:
        integers = integers.clone()
    return wrap_quantized(integers.clamp(min=zero_point) if relu else integers, scale, zero_point, self.dtype)


def _mul_number(self: Quantized, number: float, relu: bool) -> Tensor:
    low, high = self.dtype.bounds
    integers, zero_point = self.integers.clone(), self.zero_point
    if number < 0:
        zero_point = high + low - zero_point
        integers = (high + low - integers.to(ScalarType.Long)).to(integers.dtype)
    elif not number:
        integers, zero_point = FUNCTIONS["zeros_like"](integers), 0
    scale = abs(self.scale * number) if number else 1.0
    return wrap_quantized(integers.clamp(min=zero_point) if relu else integers, scale, zero_point, self.dtype)


_BINARY: Final = {"add": (_add, _add_number), "mul": (_mul, _mul_number)}


def write_out(made: Tensor, out: Tensor) -> Tensor:
    """Write integers into ``out``, which gets their parameters."""
    found, integers = record_of(made), record_of(out).integers
    integers.resize_(found.integers.shape).copy_(found.integers)
    return become(out, record_of(wrap_quantized(integers, found.scale, found.zero_point, found.dtype)))


def _to_number(value: Any) -> float:
    return float(value.item() if isinstance(value, Tensor) else value)


def make_binary(name: str) -> Kernel:
    """Return the kernel of an overload of a sum or product, by its name."""
    base, _, overload = name.partition(".")
    relu = "relu" in base
    with_tensor, with_number = _BINARY[base[:3]]
    if name.endswith("out") or base.endswith("_out"):

        def write(qa: Tensor, qb: Tensor, out: Tensor) -> Tensor:
            one, other, given = expect(qa, qb, out)
            return write_out(with_tensor(one, other, given.scale, given.zero_point, relu), out)

        def write_with_number(qa: Tensor, b: Any, out: Tensor) -> Tensor:
            record, _ = expect(qa, out)
            return write_out(with_number(record, _to_number(b), relu), out)

        return write_with_number if "scalar" in name.lower() else write
    if "scalar" in base or overload:

        def run(qa: Any, b: Any) -> Tensor:
            self, number = (b, qa) if overload == "Scalar2" else (qa, b)
            (record,) = expect(self)
            return with_number(record, _to_number(number), relu)

        return run

    def run_on_two(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
        one, other = expect(qa, qb)
        return with_tensor(one, other, scale, zero_point, relu)

    return run_on_two
