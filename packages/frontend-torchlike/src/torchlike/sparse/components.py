"""Operators that treat each element alone, or move the places: copies, dtypes, transpositions, functions of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NoReturn

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.size import check_dim
from .construction import make_empty as make_empty_coo
from .operators import coalesce
from .refusals import refuse_operator
from .tensor import Coo, copy_record, is_sparse, record_of, replace_values, wrap_coo


def become(self: Tensor, other: Tensor) -> Tensor:
    """Put the components of another tensor into one, and return it."""
    self._dispatch_data = other._dispatch_data
    return self


def copy_components(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Return a tensor with the components, or with copies of them."""
    record = record_of(self)
    if op.packet.name.endswith("clone"):
        return copy_record(record, record.indices.clone(), record.values.clone())
    return replace_values(record, record.values)


def convert(op: Any, self: Tensor, dtype: Any, layout: Any, device: Any, *rest: Any) -> Tensor:
    """Copy to another dtype; the places stay."""
    record = record_of(self)
    if (
        device is not None and device.type == "meta" and not self.is_meta
    ):  # where the number of elements is in no values
        return make_empty(op, self, dtype, layout, device, None, None)
    indices = record.indices.to(device=device, copy=True)
    values = record.values.to(device=device, dtype=dtype, copy=True)
    return copy_record(record, indices, values)


def make_empty(op: Any, self: Tensor, dtype: Any, layout: Any, device: Any, pin: Any, memory_format: Any) -> Tensor:
    """Return a tensor of the same sizes without elements."""
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    record = record_of(self)
    indices = record.indices.new_zeros((record.sparse_dim, 0), device=device)
    values = record.values.new_zeros((0, *dc.shape(record.values)[1:]), dtype=dtype, device=device)
    return wrap_coo(indices, values, record.size, True)


def make_new(op: Any, self: Tensor, size: Sequence[int], dtype: Any, layout: Any, device: Any, *rest: Any) -> Tensor:
    """Return a tensor of other sizes without elements, all of whose dimensions are sparse."""
    record = record_of(self)
    return make_empty_coo(size, record.values.dtype if dtype is None else dtype, device or record.values.device)


def transpose(op: Any, self: Tensor, one: int, other: int) -> Tensor:
    """Exchange two sparse dimensions."""
    record, rank = record_of(self), len(record_of(self).size)
    first, second = (check_dim(each, rank) % rank for each in (one, other))
    order = list(range(rank))
    order[first], order[second] = second, first
    if max(first, second) >= record.sparse_dim:
        raise RuntimeError(
            "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
            f"{record.sparse_dim}, d0: {first}, d1: {second}\nHint: to_dense() is a strided tensor"
        )
    return _arrange(record, order)


def transpose_matrix(op: Any, self: Tensor) -> Tensor:
    """Exchange the dimensions of a matrix."""
    record = record_of(self)
    if len(record.size) > 2 or record.sparse_dim > 2 or record.sparse_dim != len(record.size):
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {record.sparse_dim} sparse and"
            f" {len(record.size) - record.sparse_dim} dense dimensions"
        )
    return _arrange(record, list(range(len(record.size)))[::-1])


def permute(op: Any, self: Tensor, dims: list[int]) -> Tensor:
    """Bring the dimensions into another order, sparse ones among themselves."""
    record, rank = record_of(self), len(record_of(self).size)
    if len(dims) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired"
            f" ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(dims)}"
        )
    order = [check_dim(each, rank) % rank for each in dims]
    if len({*order}) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if {*order[: record.sparse_dim]} != {*range(record.sparse_dim)}:
        raise RuntimeError(
            "transpositions between sparse and dense dimensions are not allowed.\nHint: to_dense() is a strided tensor"
        )
    return _arrange(record, order)


def _arrange(record: Coo, order: list[int]) -> Tensor:
    if order == sorted(order):
        return replace_values(record, record.values)
    rank = record.sparse_dim
    moved = order[:rank]
    indices, is_coalesced = record.indices, record.is_coalesced
    if moved != sorted(moved):
        indices, is_coalesced = FUNCTIONS["stack"]([indices[each] for each in moved]), False
    values = record.values.permute(0, *[each - rank + 1 for each in order[rank:]])
    return wrap_coo(indices, values, [record.size[each] for each in order], is_coalesced)


def write_transposed(op: Any, self: Tensor, *dims: int) -> Tensor:
    """Exchange two dimensions in place, those of a matrix without being told which."""
    return become(self, transpose(op, self, *dims) if dims else transpose_matrix(op, self))


def write_zeros(op: Any, self: Tensor) -> Tensor:
    """Leave all elements out."""
    return become(self, make_empty(op, self, None, None, None, None, None))


def write_copy(op: Any, self: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """Take the places and values of another sparse tensor."""
    if tuple(self.shape) != tuple(source.shape):
        raise RuntimeError(f"copy_(): sizes {list(self.shape)} and {list(source.shape)} differ")
    record = record_of(source)
    values = FUNCTIONS["clone"](record.values).to(dtype=dc.dtype(self), device=self.device)
    return become(self, copy_record(record, record.indices.to(self.device).clone(), values))


def write_size(op: Any, self: Tensor, template: Tensor, memory_format: Any = None) -> Tensor:
    """Take the sizes of another sparse tensor; elements stay in their places, and none may get lost."""
    if not is_sparse(self) or not is_sparse(template):
        refuse_operator(op, self, template)
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    record, wanted = record_of(self), record_of(template)
    if record.size == wanted.size and record.sparse_dim == wanted.sparse_dim:
        return self
    if not record.count:
        empty = record_of(make_empty(op, template, dc.dtype(self), None, self.device, None, None))
        return become(self, copy_record(empty, empty.indices, empty.values, record.is_coalesced))
    rank = record.sparse_dim
    for kind, one, two in (
        ("sparse", rank, wanted.sparse_dim),
        ("dense", len(record.size) - rank, len(wanted.size) - wanted.sparse_dim),
    ):
        if one != two:
            _refuse_size(f"changing the number of {kind} dimensions (from {one} to {two})")
    for kind, part in (("sparse", slice(rank)), ("dense", slice(rank, None))):
        before, after = list(record.size[part]), list(wanted.size[part])
        if any(two < one for one, two in zip(before, after, strict=True)):
            _refuse_size(f"shrinking the size of {kind} dimensions (from {before} to {after})")
    sizes = (record.count, *wanted.size[rank:])
    flat = record.values.reshape(-1)  # torch resizes the memory, in which the elements stay where they are
    flat = FUNCTIONS["constant_pad_nd"](flat, [0, prod(sizes) - dc.shape(flat)[0]])
    return become(self, copy_record(replace(record, size=wanted.size), record.indices, flat.reshape(sizes)))


def _refuse_size(text: str) -> NoReturn:
    raise RuntimeError(
        f"{text} on a non-empty sparse tensor is not supported.\n"
        "Hint: torchlike.sparse_coo_tensor(size) has no elements, and x.zero_() leaves them out"
    )


def apply_to_values(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Apply an operator that is linear to the values, whichever places are there twice."""
    record = record_of(self)
    return replace_values(record, op(record.values, *rest))


def write_values(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Apply a linear operator to the values in place."""
    op(record_of(self).values, *rest)
    return self


def apply_to_sums(op: Any, *values: Any) -> Tensor:
    """Apply an operator that keeps zeros to the values, those of one place summed first."""
    tensors = [coalesce(each) if is_sparse(each) else each for each in values]
    found = next(each for each in tensors if is_sparse(each))
    record = record_of(found)
    for each in tensors:
        if isinstance(each, Tensor) and not (
            is_sparse(each) and FUNCTIONS["equal"](record_of(each).indices, record.indices)
        ):
            raise RuntimeError(f"{op.packet.name}: expected sparse tensors with the same places")
    return replace_values(record, op(*[record_of(each).values if is_sparse(each) else each for each in tensors]))


def write_to_sums(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Do the same in place, to a coalesced tensor: the sums would leave out elements that others hold."""
    found = record_of(self)
    if not found.is_coalesced:
        raise RuntimeError(
            f"{op.packet.name} requires coalesced input\nHint: x.coalesce() sums the elements of each place"
        )
    values = found.values.clone()
    op(values, *rest)
    return become(self, replace_values(found, values))


def read_number(op: Any, self: Tensor) -> Any:
    """Return the only element of a tensor, zero where it is not there."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return op(record_of(self).values.sum(dtype=dc.dtype(self)))


def raise_power(op: Any, self: Tensor, exponent: Any) -> Tensor:
    """Raise the elements to a power that keeps zeros."""
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    return apply_to_sums(op, self, exponent)
