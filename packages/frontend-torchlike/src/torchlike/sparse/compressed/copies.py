"""Copies of compressed tensors, and tensors that are made like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dispatch_core as dc

from ...tensors.tensor import Tensor, wrap
from .rules import become
from .tensor import (
    COMPRESSED,
    Compressed,
    record_of,
    replace_values,
    widen_indices,
    wrap_compressed,
)


def copy_components(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Return a tensor with the components, or with copies of them."""
    record = record_of(self)
    if not op.packet.name.endswith("clone"):
        return replace_values(record, record.values)
    return wrap(COMPRESSED.map_components(lambda each: each.clone(), record))


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
    if len(size) < 2:
        raise RuntimeError(
            f"{op.packet.name}: a tensor of layout {record.layout} has at least 2 dimensions, not {len(size)}"
        )
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
