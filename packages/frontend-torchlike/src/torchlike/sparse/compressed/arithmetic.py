"""Functions of the elements of compressed tensors, their sums and products with others."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor
from ...values.layouts import strided
from ..operators import ops
from . import places
from .operators import convert_like
from .rules import become, by_coo, call, check_result, find_first, narrow
from .tensor import (
    Compressed,
    is_compressed,
    record_of,
    replace_values,
)


def apply_to_values(op: Any, *values: Any) -> Tensor:
    """Apply an operator that keeps zeros to the values; further tensors have the same places, or take them."""
    record = record_of(find_first(values))
    return replace_values(record, call(op, *[_read_values(each, record) for each in values]))


def _read_values(value: Any, record: Compressed) -> Any:
    if not isinstance(value, Tensor) or not dc.shape(value):
        return value
    if is_compressed(value):
        other = record_of(value)
        if other is record:
            return record.values
        is_alike = (other.layout, other.size, dc.shape(other.values)) == (
            record.layout,
            record.size,
            dc.shape(record.values),
        )
        if is_alike and all(
            FUNCTIONS["equal"](getattr(other, name), getattr(record, name)) for name in ("compressed", "plain")
        ):
            return other.values
        value = places.to_coo(value)
    return places.gather(value, record)


def write_values(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Apply an operator that keeps zeros to the values in place."""
    record = record_of(self)
    call(op, record.values, *[_read_values(each, record) for each in rest])
    self._count_write()
    return self


def write_result(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Put a function of the values into ``out``, a tensor of the same layout, which takes the places."""
    *given, out = rest
    if not is_compressed(out) or out.layout is not self.layout or out.shape != self.shape:
        raise RuntimeError(
            f"{op.name}: expected out of layout {self.layout} and sizes {list(self.shape)}, but got one of layout"
            f" {out.layout} and sizes {list(out.shape)}"
        )
    record = record_of(self)
    found, kind = op.packet(record.values, *given), dc.dtype(out)
    check_result(dc.dtype(found), kind)
    return become(out, replace_values(record, found.to(kind)))


def raise_power(op: Any, self: Tensor, exponent: Any) -> Tensor:
    """Raise the elements to a power that keeps zeros."""
    if not exponent > 0:
        raise RuntimeError(f"pow: the power {exponent} of zeros is not zero\nHint: to_dense() makes a strided tensor")
    return apply_to_values(op, self, exponent)


def multiply(op: Any, self: Any, other: Any) -> Tensor:
    """Multiply by a number, or element by element: in the places that both have, those of a compressed one else."""
    if not (isinstance(self, Tensor) and isinstance(other, Tensor) and dc.shape(self) and dc.shape(other)):
        return apply_to_values(op, self, other)
    if strided in (self.layout, other.layout):
        sparse, dense = (self, other) if is_compressed(self) else (other, self)
        return by_coo(op, sparse, dense)
    return by_coo(op, self, other)


def divide(op: Any, self: Any, other: Tensor, *options: Any) -> Tensor:
    """Divide by a strided tensor without dimensions."""
    if not is_compressed(self) or dc.shape(other):
        raise RuntimeError(
            f"{op.packet.name}: expected a number, or a strided tensor without dimensions, to divide by, but got"
            f" sizes {list(dc.shape(other))}\nHint: to_dense() makes strided tensors"
        )
    return apply_to_values(op, self, other, *options)


def write_product(op: Any, self: Tensor, other: Any) -> Tensor:
    """Multiply in place: a compressed tensor, or a strided one by a compressed one."""
    if not is_compressed(self):
        return self.mul_(ops.to_dense(other, True))
    if not isinstance(other, Tensor) or not dc.shape(other):
        return write_values(op, self, other)
    return _write(self, multiply(dc.ops.aten.mul.Tensor, self, other))


def _write(self: Tensor, found: Tensor) -> Tensor:
    if found.shape != self.shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(found.shape)}"
        )
    check_result(dc.dtype(found), dc.dtype(self))
    record = narrow(record_of(convert_like(found, self)), record_of(self))
    return become(self, replace_values(record, record.values.to(dc.dtype(self))))


def add(op: Any, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """Add, or subtract, compressed tensors, of the layout of the first; with a strided one the sum is strided."""
    if not isinstance(other, Tensor) or strided in (self.layout, other.layout):
        one, two = (ops.to_dense(each, True) if is_compressed(each) else each for each in (self, other))
        if not isinstance(two, Tensor) or dc.shape(one) != dc.shape(two):
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same size, but self has size {list(dc.shape(one))} while other"
                f" has size {list(dc.shape(two)) if isinstance(two, Tensor) else []} (FYI: dense-sparse addition does not"
                " currently support broadcasting)"
            )
        return op(one, two, alpha=alpha)
    found = by_coo(op, self, other, alpha)
    if not is_compressed(self):
        return found
    record = record_of(found)
    return replace_values(narrow(record, record_of(self)), record.values)


def write_sum(op: Any, self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """Add, or subtract, in place."""
    if not is_compressed(self):
        if dc.shape(self) != dc.shape(other):
            raise RuntimeError(
                f"{op.packet.name}: expected tensors of one size, but got {list(self.shape)} and {list(other.shape)}"
            )
        return op(self, ops.to_dense(other, True), alpha=alpha)
    plain = dc.ops.aten.sub.Tensor if "sub" in op.name else dc.ops.aten.add.Tensor
    found = add(plain, self, other, alpha)
    if not is_compressed(found):
        raise RuntimeError(f"{op.packet.name}: the sum of a compressed and a strided tensor is strided")
    return _write(self, found)
