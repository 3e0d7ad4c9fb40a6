"""Operators that write to quantized tensors, convert or compare them as a whole."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..tensors.tensor import Tensor
from .numbers import dequantize, quantize_number, requantize
from .tensor import become, is_quantized, map_record, record_of, wrap_quantized


def copy(op: Any, self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy integers with their parameters, or numbers, which get those of the tensor."""
    if not is_quantized(self):
        raise RuntimeError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float"
            " Tensor from a quantized Tensor"
        )
    record = record_of(self)
    if is_quantized(src):
        other = record_of(src)
        if other.dtype is not record.dtype:
            raise RuntimeError(
                "Quantized Copy only works with same quantized dtype: Expected self.scalar_type() == src.scalar_type() to be"
                f" true, but got false.\nHint: they are {record.dtype!r} and {other.dtype!r}"
            )
        record.integers.copy_(other.integers)
        made = wrap_quantized(record.integers, other.scale, other.zero_point, record.dtype, other.axis)
        return become(self, record_of(made))
    record.integers.copy_(record_of(requantize(src.to(self.device).expand(self.shape), record)).integers)
    return become(self, record)


def fill(op: Any, self: Tensor, value: Any) -> Tensor:
    """Write one number everywhere."""
    number = value.item() if isinstance(value, Tensor) else value
    record = record_of(self)
    if record.axis is None:
        record.integers.fill_(quantize_number(float(number), record.scale, record.zero_point, record.dtype))
    else:
        numbers = dequantize(record).fill_(number)
        record.integers.copy_(record_of(requantize(numbers, record)).integers)
    return become(self, record)


def convert(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Copy to another device; another dtype is refused, as in torch."""
    names = [argument.name for argument in op.schema.arguments][1:]
    given = dict(zip(names, rest, strict=True))
    other = given.get("other")
    dtype = given.get("dtype") if other is None else other.dtype
    device = given.get("device") if other is None else other.device
    if dtype is not None and dtype is not self.dtype:
        raise RuntimeError(
            f"Creation of quantized tensor requires quantized dtype like torch.quint8\nHint: x.dequantize() has the numbers,"
            f" which can become {dtype!r}"
        )
    wants_copy = op.packet.name.endswith("_to_copy") or bool(given.get("copy"))
    if not wants_copy and (device is None or device == self.device):
        return self
    return map_record(self, lambda each: each.to(device=device, copy=True))


def read_number(op: Any, self: Tensor) -> float:
    """Return the number of a tensor of one element."""
    found: float = dequantize(record_of(self)).item()
    return found


def have_same_numbers(op: Any, self: Tensor, other: Tensor) -> bool:
    """Return whether two quantized tensors have the same integers and parameters."""
    if not (is_quantized(self) and is_quantized(other)):
        raise RuntimeError("equal(): expected two quantized tensors\nHint: x.dequantize() has the numbers")
    one, another = record_of(self), record_of(other)
    if (one.dtype, one.axis) != (another.dtype, another.axis) or self.shape != other.shape:
        return False
    parameters = [(one.scale, another.scale), (one.zero_point, another.zero_point), (one.integers, another.integers)]
    return all(bool(dc.ops.aten.equal(a, b)) if isinstance(a, Tensor) else a == b for a, b in parameters)
