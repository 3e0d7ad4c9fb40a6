"""Operators that treat each element of a compressed tensor alone, move dimensions, or go by way of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor
from ...values.dtypes import can_cast
from ...values.layouts import strided
from ...values.size import check_dim
from .. import tensor as coo
from . import places
from .operators import convert_like, ops
from .tensor import (
    LAYOUTS,
    TRANSPOSED,
    Compressed,
    is_compressed,
    record_of,
    replace_values,
    widen_indices,
    wrap_compressed,
)


def find_first(values: Sequence[Any]) -> Tensor:
    """Return the first compressed tensor among arguments."""
    found: Tensor = next(each for each in values if is_compressed(each))
    return found


def become(self: Tensor, other: Tensor) -> Tensor:
    """Put the components of another tensor into one, tell its history that it was written to, and return it."""
    self._dispatch_data = other._dispatch_data
    self._count_write()
    return self


def call(op: Any, *values: Any) -> Any:
    """Call an operator with all its arguments in the order of the schema."""
    count, names = len(op.schema.positional), [argument.name for argument in op.schema.keyword_only]
    return op(*values[:count], **dict(zip(names, values[count:], strict=False)))


# Copies.


def copy_components(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Return a tensor with the components, or with copies of them."""
    record = record_of(self)
    if not op.packet.name.endswith("clone"):
        return replace_values(record, record.values)
    parts = (each.clone() for each in (record.compressed, record.plain, record.values))
    return wrap_compressed(*parts, record.size, record.layout)


def convert(op: Any, self: Tensor, dtype: Any, layout: Any, device: Any, *rest: Any) -> Tensor:
    """Copy to another dtype, or to another device."""
    record = record_of(self)
    if device is not None and device.type == "meta" and not self.is_meta:
        return make_zeros(op, self, dtype, layout, device)
    compressed, plain = (each.to(device=device, copy=True) for each in (record.compressed, record.plain))
    values = record.values.to(device=device, dtype=dtype, copy=True)
    return wrap_compressed(compressed, plain, values, record.size, record.layout)


def make_zeros(op: Any, self: Tensor, dtype: Any, layout: Any, device: Any, *rest: Any) -> Tensor:
    """Return a tensor of the same sizes without elements."""
    return make_empty(record_of(self), record_of(self).size, dtype, device)


def make_empty(record: Compressed, size: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Return a tensor without elements that has the layout, blocks and dense dimensions of a record."""
    split = len(size) - len(record.dense) - 2
    batch, block = tuple(size[:split]), record.block
    lines = size[split + (not record.is_by_rows)] // (block or (1, 1))[not record.is_by_rows]
    options = {"device": device}
    return wrap_compressed(
        record.compressed.new_zeros((*batch, lines + 1), **options),
        record.plain.new_zeros((*batch, 0), **options),
        record.values.new_zeros((*batch, 0, *(block or ()), *size[split + 2 :]), dtype=dtype, **options),
        size,
        record.layout,
    )


def make_new(op: Any, self: Tensor, size: Sequence[int], dtype: Any, layout: Any, device: Any, *rest: Any) -> Tensor:
    """Return a tensor of other sizes without elements; raises ``RuntimeError`` for layouts of blocks."""
    record = record_of(self)
    if record.block is not None:
        raise RuntimeError(f"{op.packet.name}: expected a layout without blocks, but got {record.layout}")
    matrix = replace(record, size=record.size[: len(record.batch) + 2])
    return widen_indices(make_empty(matrix, size, dtype, device))


def make_alike(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Apply a factory to the values: the places stay."""
    record = record_of(self)
    count = len(op.schema.positional) - 1
    given, (dtype, _, device, *_) = rest[:count], rest[count:]
    values = op(record.values, *given, dtype=dtype, device=device)
    compressed, plain = (each.to(device=device, copy=True) for each in (record.compressed, record.plain))
    return wrap_compressed(compressed, plain, values, record.size, record.layout)


def fill_new(op: Any, self: Tensor, size: Sequence[int], *rest: Any) -> Tensor:
    """Return a tensor of other sizes without elements: there is nothing to fill."""
    count = len(op.schema.positional) - 2
    return make_new(op, self, size, *rest[count:])


def write_zeros(op: Any, self: Tensor) -> Tensor:
    """Leave all elements out."""
    return become(self, make_zeros(op, self, None, None, None))


def write_copy(op: Any, self: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy the components of a tensor of the same layout and number of elements into those of another."""
    layouts = self.layout, source.layout
    if layouts[0] is not layouts[1]:
        raise RuntimeError(
            f"copy_(): expected tensors of one layout, but got {layouts[0]} and {layouts[1]}\n"
            "Hint: to_sparse(layout=...) converts the source, to_dense() makes it strided"
        )
    one, two = record_of(self), record_of(source)
    if one.size != two.size or dc.shape(one.values) != dc.shape(two.values):
        raise RuntimeError(
            f"copy_(): only tensors of as many elements are copied, but sizes are {list(one.size)} with {one.count} elements"
            f" and {list(two.size)} with {two.count}\nHint: y = x.clone() is a new tensor"
        )
    for name in ("compressed", "plain", "values"):
        getattr(one, name).copy_(getattr(two, name), non_blocking)
    self._count_write()
    return self


# Elements.


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
    _check_result(dc.dtype(found), kind)
    return become(out, replace_values(record, found.to(kind)))


def _check_result(found: Any, kind: Any) -> None:
    if not can_cast(found, kind):
        raise RuntimeError(f"result type {found.name} can't be cast to the desired output type {kind.name}")


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
            f"{op.packet.name}: expected a number, or a strided tensor without dimensions, to divide a sparse one by, but got"
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
    _check_result(dc.dtype(found), dc.dtype(self))
    record = _narrow(record_of(convert_like(found, self)), record_of(self))
    return become(self, replace_values(record, record.values.to(dc.dtype(self))))


def add(op: Any, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """Add, or subtract, compressed tensors, of the layout of the first; with a strided one the sum is strided."""
    if not isinstance(other, Tensor) or strided in (self.layout, other.layout):
        one, two = (ops.to_dense(each, True) if is_compressed(each) else each for each in (self, other))
        if not isinstance(two, Tensor) or dc.shape(one) != dc.shape(two):
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same size, but self has size {list(dc.shape(one))} while other has"
                f" size {list(dc.shape(two)) if isinstance(two, Tensor) else []} (FYI: dense-sparse addition does not"
                " currently support broadcasting)"
            )
        return op(one, two, alpha=alpha)
    found = by_coo(op, self, other, alpha)
    if not is_compressed(self):
        return found
    record = record_of(found)
    return replace_values(_narrow(record, record_of(self)), record.values)


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


def by_coo(op: Any, *values: Any) -> Any:
    """Compute with tensors of coordinates; a sparse result gets the layout of the first compressed tensor."""
    first = find_first(values)
    found = call(op, *[places.to_coo(each) if is_compressed(each) else each for each in values])
    if not coo.is_sparse(found) or coo.record_of(found).sparse_dim < 2:
        return found
    return convert_like(found, first)


# Dimensions.


def transpose(op: Any, self: Tensor, one: int, other: int) -> Tensor:
    """Exchange two dimensions of the batch, the two of the matrices, whose layout changes, or two dense ones."""
    record = record_of(self)
    rank, split = len(record.size), len(record.batch)
    first, second = (check_dim(each, rank) % rank for each in (one, other))
    kinds = ["Batch" if each < split else "Sparse" if each < split + 2 else "Dense" for each in (first, second)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got"
            f" {first}({kinds[0]}) and {second}({kinds[1]})"
        )
    size = list(record.size)
    size[first], size[second] = size[second], size[first]
    compressed, plain, values, wanted = record.compressed, record.plain, record.values, record.layout
    if first == second:
        return replace_values(record, values)
    if kinds[0] == "Batch":
        compressed, plain, values = (each.transpose(first, second) for each in (compressed, plain, values))
    elif kinds[0] == "Sparse":
        wanted = TRANSPOSED[wanted]
        values = values if record.block is None else values.transpose(split + 1, split + 2)
    else:
        step = values.dim() - rank
        values = values.transpose(first + step, second + step)
    return wrap_compressed(compressed, plain, values, size, wanted)


def transpose_matrix(op: Any, self: Tensor) -> Tensor:
    """Exchange the dimensions of a matrix."""
    if len(record_of(self).size) != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(record_of(self).size)}D")
    return transpose(op, self, 0, 1)


def permute(op: Any, self: Tensor, dims: list[int]) -> Tensor:
    """Bring the dimensions of each kind into another order."""
    rank = len(record_of(self).size)
    order = [check_dim(each, rank) % rank for each in dims]
    if sorted(order) != list(range(rank)):
        raise RuntimeError(f"permute(): {dims} is no order of {rank} dimensions")
    found, now = self, list(range(rank))
    for place, wanted in enumerate(order):
        other = now.index(wanted)
        now[place], now[other] = now[other], now[place]
        found = transpose(op, found, place, other)
    return found


def select(op: Any, self: Tensor, dim: int, index: int) -> Tensor:
    """Return a matrix of the batch, a row or column as a tensor of coordinates, or a part of the dense dimensions."""
    record = record_of(self)
    rank, split = len(record.size), len(record.batch)
    dim = check_dim(dim, rank) % rank
    if not -record.size[dim] <= index < record.size[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(record.size)} at dimension {dim}"
        )
    size = record.size[:dim] + record.size[dim + 1 :]
    if dim < split:
        parts = (each.select(dim, index) for each in (record.compressed, record.plain, record.values))
        return wrap_compressed(*parts, size, record.layout)
    if dim < split + 2:
        found: Tensor = op(places.to_coo(self), dim, index)
        return found
    values = record.values.select(dim + record.values.dim() - rank, index)
    return wrap_compressed(record.compressed, record.plain, values, size, record.layout)


def unbind(op: Any, self: Tensor, dim: int = 0) -> list[Tensor]:
    """Return all parts along a dimension."""
    aten = dc.ops.aten.select.int
    size = record_of(self).size
    place = check_dim(dim, len(size)) % len(size)
    return [select(aten, self, place, number) for number in range(size[place])]


def resize(op: Any, self: Tensor, size: Sequence[int], memory_format: Any = None) -> Tensor:
    """Change the sizes in place: rows, or columns, are added or taken away at the end; the other size may only grow."""
    record, wanted = record_of(self), tuple(size)
    split = len(record.batch)
    lines, wide = (split, split + 1) if record.is_by_rows else (split + 1, split)
    others = [each for each in range(len(wanted)) if each not in (lines, wide)]
    if (
        memory_format is not None
        or len(wanted) != len(record.size)
        or any(wanted[each] != record.size[each] for each in others)
    ):
        raise RuntimeError(
            f"resize_: expected another size of the matrices alone, from {list(record.size)}, but got {list(wanted)}"
        )
    if wanted[wide] < record.size[wide] and record.count:
        raise RuntimeError(
            f"resize_: elements may be lost where dimension {wide} shrinks from {record.size[wide]} to {wanted[wide]}"
        )
    block = record.block or (1, 1)
    if wanted[split] % block[0] or wanted[split + 1] % block[1]:
        raise RuntimeError(f"resize_: the sizes {list(wanted)} are no multiples of the blocks {list(block)}")
    count = wanted[lines] // block[lines - split] + 1
    kept = record.compressed[..., :count]
    if (missing := count - dc.shape(kept)[-1]) > 0:
        kept = FUNCTIONS["cat"]([kept, kept[..., -1:].expand(*record.batch, missing)], -1)
    left = {int(each) for each in kept[..., -1].reshape(-1).tolist()}
    if len(left) > 1:
        raise RuntimeError("resize_: the matrices of the batch would have different numbers of elements")
    number = left.pop() if left else 0
    plain, values = (each.narrow(split, 0, number) for each in (record.plain, record.values))
    return become(self, wrap_compressed(kept, plain, values, wanted, record.layout))


def resize_alike(op: Any, self: Tensor, template: Tensor, memory_format: Any = None) -> Tensor:
    """Take the sizes of another compressed tensor."""
    if not is_compressed(self) or self.layout is not template.layout:
        raise RuntimeError(
            f"{op.packet.name}: expected tensors of one layout, but got {self.layout} and {template.layout}"
        )
    return self if self.shape == template.shape else resize(op, self, dc.shape(template))


# Sums.


def read_number(op: Any, self: Tensor) -> Any:
    """Return the only element of a tensor, zero where it is not there."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return op(record_of(self).values.sum(dtype=dc.dtype(self)))


def sum_all(op: Any, self: Tensor, dtype: Any = None) -> Tensor:
    """Return the sum of all elements, a strided tensor."""
    found: Tensor = op(record_of(self).values, dtype=dtype)
    return found


def sum_dims(op: Any, self: Tensor, dim: list[int] | None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Return the sums over dimensions: compressed with ``keepdim``, else of coordinates, or strided."""
    if not dim and not keepdim:
        return sum_all(op, self, dtype)
    found = op(places.to_coo(self), dim, keepdim, dtype=dtype)
    record = record_of(self)
    if not keepdim:
        return found
    kept: Any = None
    if record.block is not None:
        sizes = dc.shape(found)[len(record.batch) :]
        kept = [min(one, two) for one, two in zip(record.block, sizes, strict=False)]
    made = record_of(ops._to_layout(found, _name(record), list(kept or ()), len(record.dense)))
    return replace_values(_narrow(made, record), made.values)


def _narrow(record: Compressed, template: Compressed) -> Compressed:
    """Return a record with indices of another's dtype."""
    kind = dc.dtype(template.compressed)
    return replace(record, compressed=record.compressed.to(kind), plain=record.plain.to(kind))


def _name(record: Compressed) -> str:
    return next(name for name, each in LAYOUTS.items() if each is record.layout)
