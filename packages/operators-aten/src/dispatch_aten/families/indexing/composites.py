"""Indexing, gathering and scattering in terms of a few of them, and the backward operators of views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import (
    Array,
    arange_like,
    aten,
    meta_of,
    missing_functional,
    ndim,
    numel,
    overload,
)
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.dtypes import ScalarType, int64
from dispatch_aten.errors import OperatorError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    if not dc.is_mutable(self):
        raise missing_functional("index_put", self)
    return aten.index_put_.default(aten.clone.default(self), indices, values, accumulate)


def _at(index: Array, dim: int, count: int) -> list[Array | None]:
    """Return the index list that applies ``index`` to one dimension."""
    return [None] * wrap_dim(dim, max(count, 1)) + [index]


def _index_select(self: Array, dim: int, index: Array) -> Array:
    RULES["index_select"](meta_of(self), dim, meta_of(index))
    if not ndim(self):
        return aten.clone.default(self)
    flat = aten.reshape.default(index, (-1,))
    return aten.contiguous.default(aten.index.Tensor(self, _at(flat, dim, ndim(self))))


def _index_add(self: Array, dim: int, index: Array, source: Array, *, alpha: Number = 1) -> Array:
    RULES["index_add"](meta_of(self), dim, meta_of(index), meta_of(source), alpha=alpha)
    kind = dc.dtype(source)
    if not (kind.is_floating_point or kind.is_complex):
        alpha = alpha != 0 if kind is ScalarType.Bool else int(alpha.real)
    values = source if alpha == 1 else aten.mul.Scalar(source, alpha)
    if not ndim(self):
        return aten.add.Tensor(self, aten.reshape.default(values, ()))
    flat = aten.reshape.default(index, (-1,))
    return aten.index_put.default(aten.clone.default(self, memory_format=0), _at(flat, dim, ndim(self)), values, True)


def _positions(index: Array, dim: int) -> list[Array]:
    """Return index tensors that address, for each element of ``index``, its place with ``dim`` replaced by its value."""
    shape = dc.shape(index)
    places = []
    for each, size in enumerate(shape):
        if each == dim:
            places.append(index)
            continue
        line = arange_like(index, size)
        places.append(aten.view.default(line, [-1 if other == each else 1 for other in range(len(shape))]))
    return places


def _gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    RULES["gather"](meta_of(self), dim, meta_of(index))
    if not numel(index):
        return aten.new_empty.default(self, dc.shape(index))
    if not ndim(self) or not ndim(index):
        return aten.reshape.default(aten.take.default(self, index), dc.shape(index))
    return aten.contiguous.default(aten.index.Tensor(self, _positions(index, wrap_dim(dim, ndim(self)))))


def _scatter(accumulate: bool) -> Callable[..., Array]:
    name = "scatter_add" if accumulate else "scatter.src"

    def kernel(self: Array, dim: int, index: Array, src: Array) -> Array:
        RULES[name](meta_of(self), dim, meta_of(index), meta_of(src))
        if not numel(index):
            return aten.clone.default(self, memory_format=0)
        shape = dc.shape(index)
        if not ndim(self) or not shape:
            row = _scatter(accumulate)(
                aten.reshape.default(self, (-1,)),
                0,
                aten.reshape.default(index, (-1,)),
                aten.reshape.default(src, (-1,)),
            )
            return aten.reshape.default(row, dc.shape(self))
        part = src if ndim(src) else aten.reshape.default(src, (1,))
        for each, size in enumerate(shape):
            if dc.shape(part)[each] != size:
                part = aten.slice.Tensor(part, each, 0, size)
        base = aten.clone.default(self, memory_format=0)
        return aten.index_put.default(base, _positions(index, wrap_dim(dim, len(shape))), part, accumulate)

    return kernel


def _take(self: Array, index: Array) -> Array:
    RULES["take"](meta_of(self), meta_of(index))
    flat = aten.reshape.default(self, (-1,))
    return aten.reshape.default(aten.index.Tensor(flat, [aten.reshape.default(index, (-1,))]), dc.shape(index))


def _masked_select(self: Array, mask: Array) -> Array:
    wide, kept = aten.broadcast_tensors.default([self, mask])
    if not ndim(wide):
        wide, kept = aten.unsqueeze.default(wide, 0), aten.unsqueeze.default(kept, 0)
    return aten.index.Tensor(wide, [kept])


def _masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    meta = RULES["masked_scatter"](meta_of(self), meta_of(mask), meta_of(source))
    base = aten.clone.default(aten.expand.default(self, meta.shape), memory_format=0)
    where = aten.expand.default(mask, meta.shape)
    count = int(aten.item.default(aten.sum.default(where)))
    if numel(source) < count:
        raise OperatorError(
            "masked_scatter: Number of elements of source < number of ones in mask",
            operator="aten::masked_scatter",
            argument="source",
        )
    values = aten.slice.Tensor(aten.reshape.default(source, (-1,)), 0, 0, count)
    if not meta.shape:
        return aten.reshape.default(values, ()) if count else base
    return aten.index_put.default(base, [where], values, False)


def _nonzero_numpy(self: Array) -> list[Array]:
    if not ndim(self):
        self = aten.unsqueeze.default(self, 0)
    return list(aten.unbind.int(aten.nonzero.default(self), 1))


def _one_hot(self: Array, num_classes: int = -1) -> Array:
    if dc.dtype(self) != int64:
        raise OperatorError(
            "one_hot is only applicable to index tensor of type LongTensor.", operator="aten::one_hot", argument="self"
        )
    has_values = num_classes == 0 or dc.device(self).type != "meta"
    if numel(self) and not has_values:
        RULES["one_hot"](meta_of(self), num_classes)  # raises where the number is in the values
    elif numel(self):
        if aten.item.default(aten.min.default(self)) < 0:
            raise OperatorError("Class values must be non-negative.", operator="aten::one_hot", argument="self")
        most = int(aten.item.default(aten.max.default(self)))
        if num_classes == -1:
            num_classes = most + 1
        elif num_classes <= most:
            raise OperatorError(
                "Class values must be smaller than num_classes.",
                operator="aten::one_hot",
                argument="num_classes",
                hint=f"the largest is {most}, and num_classes is {num_classes}",
            )
    elif num_classes <= 0:
        raise OperatorError(
            "Can not infer total number of classes from empty tensor.", operator="aten::one_hot", argument="num_classes"
        )
    classes = arange_like(self, num_classes)
    index = aten.unsqueeze.default(aten.contiguous.default(self), -1)
    return aten._to_copy.default(aten.eq.Tensor(index, classes), dtype=int64)


def _scatter_into_view(rule: str, view: str) -> Callable[..., Array]:
    """Make ``select_scatter`` and its kind: a copy of ``self`` with ``src`` written into a view of it."""

    def kernel(self: Array, src: Array, *args: Any) -> Array:
        RULES[rule](meta_of(self), meta_of(src), *args)
        return scatter_into(aten.clone.default(self), [(overload(view), args)], src)

    return kernel


def _view_backward(view: str) -> Callable[..., Array]:
    """Make the backward operator of a view: zeros of the input's shape with the gradient in the view's place."""

    def kernel(grad_output: Array, input_sizes: Sequence[int], *args: Any) -> Array:
        base = aten.new_zeros.default(grad_output, input_sizes)
        return scatter_into(base, [(overload(view), args)], grad_output)

    return kernel


def _embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    RULES["embedding"](meta_of(weight), meta_of(indices))
    rows = aten.index_select.default(weight, 0, aten.reshape.default(indices, (-1,)))
    return aten.view.default(rows, (*dc.shape(indices), dc.shape(weight)[1]))


def _embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    width = dc.shape(grad_output)[-1]
    flat = aten.reshape.default(indices, (-1,))
    rows = aten.reshape.default(grad_output, (numel(indices), width))
    if padding_idx >= 0:
        rows = aten.masked_fill.Scalar(rows, aten.unsqueeze.default(aten.eq.Scalar(flat, padding_idx), 1), 0)
    if scale_grad_by_freq:
        ones = aten.new_ones.default(grad_output, dc.shape(flat))
        counts = aten.index_add.default(aten.new_zeros.default(grad_output, (num_weights,)), 0, flat, ones)
        rows = aten.div.Tensor(rows, aten.unsqueeze.default(aten.index_select.default(counts, 0, flat), 1))
    return aten.index_add.default(aten.new_zeros.default(grad_output, (num_weights, width)), 0, flat, rows)


def _value_selecting_reduction_backward(
    grad: Array, dim: int, indices: Array, sizes: Sequence[int], keepdim: bool
) -> Array:
    if not sizes:
        return grad
    if not keepdim:
        grad, indices = aten.unsqueeze.default(grad, dim), aten.unsqueeze.default(indices, dim)
    return aten.scatter.src(aten.new_zeros.default(grad, sizes), dim, indices, grad)
