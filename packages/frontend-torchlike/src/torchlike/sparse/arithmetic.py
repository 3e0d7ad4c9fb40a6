"""Sums, products and quotients of sparse tensors with each other, with strided ones and with numbers."""

from __future__ import annotations

from math import prod
from typing import Any

import dispatch_core as dc
from dispatch_aten.shapes import broadcast_shapes

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.dtypes import can_cast, result_type
from .components import become
from .matrices import add_up, sum_duplicates
from .operators import coalesce
from .tensor import count_through, gather, is_sparse, record_of, replace_values, wrap_coo


def add(op: Any, self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """Add a sparse tensor to a sparse or strided one; raises ``RuntimeError`` the other way round."""
    _check_dtypes("add", self, other, alpha)
    if not is_sparse(self):
        return _add_to_dense(self.to(result_type(self, other), copy=True), other, alpha)
    if tuple(self.shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
        )
    one, two = record_of(self), record_of(other)
    dtype = FUNCTIONS["add"](one.values.reshape(-1)[:0], two.values.reshape(-1)[:0], alpha=alpha).dtype
    if one.sparse_dim != two.sparse_dim:
        if not one.count or not two.count:  # a tensor without elements is zero, whatever it counts as dense
            record, factor = (two, alpha) if two.count else (one, 1)
            return replace_values(record, record.values.to(dtype, copy=True) * factor)
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same number of sparse dimensions, but {one.sparse_dim} !="
            f" {two.sparse_dim}"
        )
    scaled = two.values if alpha == 1 else two.values.to(dtype) * alpha
    indices = FUNCTIONS["cat"]([one.indices, two.indices], 1)
    values = FUNCTIONS["cat"]([one.values.to(dtype), scaled.to(dtype)])
    both = one.is_coalesced and two.is_coalesced
    # Sums of sums would otherwise grow without bound.
    if both or one.count + two.count > prod(one.size[: one.sparse_dim]):
        indices, values = sum_duplicates(indices, values, one.size)
    return wrap_coo(indices, values, one.size, both)


def _check_dtypes(name: str, self: Tensor, other: Tensor, alpha: Any) -> None:
    """Refuse dtypes, and factors, that strided tensors would refuse."""
    if not dc.dtype(self).is_floating_point and not dc.dtype(other).is_floating_point:
        parts = [record_of(each).values if is_sparse(each) else each for each in (self, other)]
        FUNCTIONS[name](*(each.reshape(-1)[:0] for each in parts), alpha=alpha)


def subtract(op: Any, self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """Subtract a sparse tensor."""
    _check_dtypes("sub", self, other, alpha)
    return add(op, self, other, -alpha)


def write_sum(op: Any, self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    """Add a sparse tensor in place."""
    if not is_sparse(self):
        _check_result(result_type(self, other), self)
        return _add_to_dense(self, other, alpha)
    found = add(op, self, other, alpha)
    _check_result(dc.dtype(found), self)
    record = record_of(found)
    return become(self, replace_values(record, record.values.to(dc.dtype(self))))


def write_difference(op: Any, self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    """Subtract a sparse tensor in place."""
    _check_dtypes("sub", self, other, alpha)
    return write_sum(op, self, other, -alpha)


def _check_result(found: Any, self: Tensor) -> None:
    if not can_cast(found, dc.dtype(self)):
        raise RuntimeError(f"result type {found.name} can't be cast to the desired output type {dc.dtype(self).name}")


def _add_to_dense(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """Add to the elements of a strided tensor in place, and return it."""
    if tuple(self.shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(self.shape)} while other has size"
            f" {list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    record = record_of(other)
    rank = record.sparse_dim
    sizes = record.size[:rank]
    if not record.count:
        return self
    values = record.values if alpha == 1 else record.values * alpha
    rows = add_up(values.to(dc.dtype(self)), count_through(record.indices, sizes), prod(sizes))
    return self.add_(rows.reshape(record.size))


def multiply(op: Any, self: Any, other: Any) -> Tensor:
    """Multiply element by element: places of both for two sparse tensors, those of the sparse one else."""
    if not is_sparse(self):
        self, other = other, self
    if not is_sparse(other):
        return _multiply_dense(self, other)
    one, two = (record_of(coalesce(each)) for each in (self, other))
    rank = one.sparse_dim
    if len(one.size) != len(two.size) or rank != two.sparse_dim or one.size[:rank] != two.size[:rank]:
        if not dc.shape(other) or not dc.shape(self):
            number, sparse = (self, other) if not dc.shape(self) else (other, self)
            return _multiply_dense(sparse, _densify(number))
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse"
            f" dimensions, and shape of sparse dimensions\nHint: the sizes are {list(self.shape)} and {list(other.shape)}"
        )
    size = broadcast_shapes(one.size, two.size)
    sizes = size[:rank]
    here, there = count_through(one.indices, sizes), count_through(two.indices, sizes)
    if not one.count or not two.count:
        kept = here[:0]
        found = kept
    else:
        found = FUNCTIONS["searchsorted"](there, here).clamp(max=two.count - 1)
        kept = (there.index_select(0, found) == here).nonzero().reshape(-1)
        found = found.index_select(0, kept)
    values = one.values.index_select(0, kept) * two.values.index_select(0, found)
    return wrap_coo(one.indices.index_select(1, kept), values, size, True)


def _densify(tensor: Tensor) -> Tensor:
    found: Tensor = dc.ops.sparse.to_dense(tensor, True)
    return found


def _multiply_dense(self: Tensor, other: Any) -> Tensor:
    record = record_of(self)
    if not isinstance(other, Tensor) or not dc.shape(other):
        return replace_values(record, record.values * other)
    size = broadcast_shapes(record.size, dc.shape(other))
    if size != record.size:
        record = record_of(_repeat(self, size))
    factors = gather(other.expand(size), record.indices)
    return replace_values(record, record.values * factors)


def _repeat(self: Tensor, size: tuple[int, ...]) -> Tensor:
    """Return a sparse tensor with elements repeated along further dimensions, and along those of size 1."""
    record = record_of(self)
    lead = len(size) - len(record.size)
    indices, values = record.indices, record.values
    indices = FUNCTIONS["cat"]([indices.new_zeros((lead, record.count)), indices])
    for dim, wanted in enumerate(size[: lead + record.sparse_dim]):
        if (dim < lead or record.size[dim - lead] == 1) and wanted != 1:
            count = dc.shape(indices)[1]
            steps = FUNCTIONS["repeat_interleave"](FACTORIES["arange"](wanted, device=self.device), count)
            indices = indices.repeat(1, wanted)
            indices = FUNCTIONS["cat"]([indices[:dim], steps.unsqueeze(0), indices[dim + 1 :]])
            values = values.repeat(wanted, *[1] * (values.dim() - 1))
    return wrap_coo(indices, values.expand(dc.shape(values)[0], *size[lead + record.sparse_dim :]), size, False)


def multiply_number(op: Any, self: Tensor, other: Any) -> Tensor:
    """Multiply by a number."""
    return _multiply_dense(self, other)


def divide(op: Any, self: Any, other: Any, rounding_mode: str | None = None) -> Tensor:
    """Divide by a number, or a strided tensor without dimensions."""
    return divide_number(op, self, other, rounding_mode)


def divide_number(op: Any, self: Tensor, other: Any, rounding_mode: str | None = None) -> Tensor:
    """Divide by a number; those of one place are summed first where the quotient is rounded."""
    record = record_of(self if rounding_mode is None else coalesce(self))
    return replace_values(record, FUNCTIONS["div"](record.values, other, rounding_mode=rounding_mode))


def divide_down(op: Any, self: Any, other: Any) -> Tensor:
    """Divide and round down."""
    return (divide if isinstance(other, Tensor) else divide_number)(op, self, other, "floor")


def write_product(op: Any, self: Tensor, other: Any) -> Tensor:
    """Multiply in place."""
    if not is_sparse(self):
        return self.mul_(_densify(other))
    return _write(self, (multiply if isinstance(other, Tensor) else multiply_number)(op, self, other))


def write_quotient(op: Any, self: Tensor, other: Any, rounding_mode: str | None = None) -> Tensor:
    """Divide in place."""
    return _write(self, divide_number(op, self, other, rounding_mode))


def write_rounded_down(op: Any, self: Tensor, other: Any) -> Tensor:
    """Divide and round down, in place."""
    return write_quotient(op, self, other, "floor")


def _write(self: Tensor, found: Tensor) -> Tensor:
    """Put a result into a sparse tensor, in that one's dtype."""
    if tuple(found.shape) != tuple(self.shape):
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(found.shape)}"
        )
    _check_result(dc.dtype(found), self)
    record = record_of(found)
    return become(self, replace_values(record, record.values.to(dc.dtype(self))))
