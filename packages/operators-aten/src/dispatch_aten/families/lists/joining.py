"""Tensors brought to more dimensions and joined; products of tensors' elements and places."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of, ndim, numel
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _at_least(count: int) -> Callable[[Array], Array]:
    """Make ``atleast_1d`` and its kind; a vector becomes a row, a matrix one of depth 1."""

    def kernel(self: Array) -> Array:
        have = ndim(self)
        if not have:
            return aten.reshape.default(self, (1,) * count)
        if have == 1 and count > 1:
            self = aten.unsqueeze.default(self, 0)
        return aten.unsqueeze.default(self, -1) if have < 3 <= count else self

    return kernel


def _at_least_all(count: int) -> Callable[[Sequence[Array]], list[Array]]:
    one = _at_least(count)
    return lambda tensors: [one(tensor) for tensor in tensors]


def _check_some(name: str, tensors: Sequence[Array]) -> None:
    if not tensors:
        raise OperatorError(f"{name} expects a non-empty TensorList", operator=f"aten::{name}", argument="tensors")


def _column_stack(tensors: Sequence[Array]) -> Array:
    _check_some("column_stack", tensors)
    columns = [aten.reshape.default(each, (numel(each), 1)) if ndim(each) < 2 else each for each in tensors]
    return aten.hstack.default(columns)


def _dstack(tensors: Sequence[Array]) -> Array:
    _check_some("dstack", tensors)
    deep = _at_least(3)
    return aten.cat.default([deep(each) for each in tensors], 2)


def _flip_one(name: str, dim: int) -> Callable[[Array], Array]:
    def kernel(self: Array) -> Array:
        if ndim(self) <= dim:
            raise ShapeError(f"Input must be >= {dim + 1}-d.", operator=f"aten::{name}", argument="self")
        return aten.flip.default(self, [dim])

    return kernel


def _check_rotation(count: int, dims: Sequence[int]) -> None:
    text = ""
    if len(dims) != 2:
        text = f"expected total rotation dims == 2, but got dims = {len(dims)}"
    elif count < 2:
        text = f"expected total dims >= 2, but got total dims = {count}"
    elif len({wrap_dim(dim, count, argument="dims") for dim in dims}) == 1:
        text = f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
    if text:
        raise OperatorError(text, operator="aten::rot90", argument="dims")


def _rot90(self: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    _check_rotation(ndim(self), dims)
    turns = k % 4
    if turns == 0:
        return aten.clone.default(self, memory_format=0)
    if turns == 2:
        return aten.flip.default(self, dims)
    return aten.transpose.int(aten.flip.default(self, [dims[1] if turns == 1 else dims[0]]), *dims)


def _kron(self: Array, other: Array) -> Array:
    count = max(ndim(self), ndim(other))
    first, second = ((1,) * (count - ndim(each)) + dc.shape(each) for each in (self, other))
    left = [size for each in first for size in (each, 1)]
    right = [size for each in second for size in (1, each)]
    product = aten.mul.Tensor(aten.reshape.default(self, left), aten.reshape.default(other, right))
    # The product follows its operands' strides, which may not allow a view.
    sizes = [a * b for a, b in zip(first, second, strict=True)]
    return aten._unsafe_view.default(aten.contiguous.default(product), sizes)


def _block_diag(tensors: Sequence[Array]) -> Array:
    for place, each in enumerate(tensors):
        if ndim(each) > 2:
            raise ShapeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{place} has {ndim(each)} dimensions",
                operator="aten::block_diag",
                argument="tensors",
            )
    blocks = [_at_least(2)(each) for each in tensors]
    width, start, rows = sum(dc.shape(block)[1] for block in blocks), 0, []
    for block in blocks:
        height, length = dc.shape(block)
        before = aten.new_zeros.default(block, (height, start))
        after = aten.new_zeros.default(block, (height, width - start - length))
        rows.append(aten.cat.default([before, block, after], 1))
        start += length
    return aten.cat.default(rows, 0)


def _check_vector(name: str, self: Array) -> None:
    if ndim(self) != 1:
        raise ShapeError(
            f"Expect a 1D vector, but got shape {list(dc.shape(self))}", operator=f"aten::{name}", argument="self"
        )


def _cartesian_prod(tensors: Sequence[Array]) -> Array:
    for each in tensors:
        _check_vector("cartesian_prod", each)
    if len(tensors) == 1:
        return tensors[0]
    grids = aten.meshgrid.indexing(tensors, indexing="ij")
    return aten.stack.default([aten.flatten.using_ints(grid) for grid in grids], 1)


def _combinations(self: Array, r: int = 2, with_replacement: bool = False) -> Array:
    _check_vector("combinations", self)
    if r < 0:
        raise OperatorError(f"Expect a non-negative number, but got {r}", operator="aten::combinations", argument="r")
    if r == 0:
        return aten.new_empty.default(self, (0,))
    places = aten.meshgrid.indexing([arange_like(self, numel(self))] * r, indexing="ij")
    compare = aten.le.Tensor if with_replacement else aten.lt.Tensor
    grids = aten.meshgrid.indexing([self] * r, indexing="ij")
    if r == 1:
        return aten.stack.default(grids, 1)
    kept: Any = None
    for before, after in pairwise(places):
        ordered = compare(before, after)
        kept = ordered if kept is None else aten.logical_and.default(kept, ordered)
    return aten.stack.default([aten.masked_select.default(grid, kept) for grid in grids], 1)


def _repeat_places(repeats: Array, *, output_size: int | None = None) -> Array:
    """Return each index as often as ``repeats`` says."""
    RULES["repeat_interleave.Tensor"](meta_of(repeats), output_size=0)
    count = numel(repeats)
    if not count:
        return aten.clone.default(repeats, memory_format=0)
    if aten.item.default(aten.lt.Scalar(aten.amin.default(repeats), 0)):
        raise OperatorError(
            "repeats can not be negative", operator="aten::repeat_interleave.Tensor", argument="repeats"
        )
    ends = aten.cumsum.default(repeats, 0)
    total = aten.item.default(aten.select.int(ends, 0, count - 1)) if output_size is None else output_size
    found = aten.searchsorted.Tensor(ends, arange_like(repeats, total), right=True)
    return cast(found, dc.dtype(repeats))


def _repeat_each(self: Array, repeats: Array, dim: int | None = None, *, output_size: int | None = None) -> Array:
    if dim is None:
        self, dim = aten.flatten.using_ints(self), 0
    size = dc.shape(self)[wrap_dim(dim, ndim(self), scalar=False)]
    if ndim(repeats) == 0 or (ndim(repeats) == 1 and numel(repeats) == 1):
        repeats = aten.expand.default(aten.reshape.default(repeats, (1,)), (size,))
    elif ndim(repeats) != 1:
        raise ShapeError(
            "repeats must be 0-dim or 1-dim tensor", operator="aten::repeat_interleave", argument="repeats"
        )
    elif numel(repeats) != size:
        raise ShapeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {numel(repeats)} and "
            f"input.size({dim}) = {size}",
            operator="aten::repeat_interleave",
            argument="repeats",
        )
    return aten.index_select.default(self, dim, aten.repeat_interleave.Tensor(repeats, output_size=output_size))


def _repeat_all(self: Array, repeats: int, dim: int | None = None, *, output_size: int | None = None) -> Array:
    if dim is None:
        self, dim = self if ndim(self) == 1 else aten.flatten.using_ints(self), 0
    where = wrap_dim(dim, ndim(self), scalar=False)
    if repeats < 0:
        raise OperatorError("Repeats must be non-negative", operator="aten::repeat_interleave", argument="repeats")
    sizes = dc.shape(self)
    if output_size is not None and output_size != repeats * sizes[where]:
        raise OperatorError(
            f"repeat_interleave: Invalid output_size, expected {repeats * sizes[where]} but got {output_size}",
            operator="aten::repeat_interleave",
            argument="output_size",
        )
    spread = aten.expand.default(
        aten.unsqueeze.default(self, where + 1), (*sizes[: where + 1], repeats, *sizes[where + 1 :])
    )
    copied = aten.clone.default(spread, memory_format=0)
    return aten._unsafe_view.default(copied, (*sizes[:where], sizes[where] * repeats, *sizes[where + 1 :]))
