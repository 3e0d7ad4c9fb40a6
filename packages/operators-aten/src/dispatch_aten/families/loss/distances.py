"""Distances and similarities of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, common_dtype, meta_of, ndim, widen
from dispatch_aten.dtypes import bfloat16, float16, float32, int64
from dispatch_aten.errors import OperatorError, ShapeError, UnsupportedError
from dispatch_aten.shapes import RULES, broadcast_shapes

if TYPE_CHECKING:
    pass


def _cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Array:
    dtype = common_dtype(x1, x2)
    if not dtype.is_floating_point:
        raise OperatorError(
            f"expected common dtype to be floating point, yet common dtype is {dtype.name}",
            operator="aten::cosine_similarity",
        )
    shape = broadcast_shapes(dc.shape(x1), dc.shape(x2), argument="x2")

    def unit(vectors: Array) -> Array:
        vectors = aten.expand.default(cast(vectors, dtype), shape)
        size = aten.clamp_min.default(aten.linalg_vector_norm.default(vectors, 2, [dim], True), eps)
        return aten.div.Tensor(vectors, size)

    return aten.sum.dim_IntList(aten.mul.Tensor(unit(x1), unit(x2)), [dim], False)


def _pairwise_distance(x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Array:
    last = max(ndim(x1), ndim(x2)) - 1
    return aten.norm.ScalarOpt_dim(aten.add.Scalar(aten.sub.Tensor(x1, x2), eps), p, [last], keepdim)


def _norm(away: Array, p: float) -> Array:
    return aten.linalg_vector_norm.default(away, p, [-1], False)


def _check_kernel(self: Array, kernel: str) -> None:
    if dc.dtype(self) in (float16, bfloat16):
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{dc.dtype(self).name}'", operator=f"aten::{kernel}")


def _pdist(self: Array, p: float = 2.0) -> Array:
    shape = dc.shape(self)
    faults = (
        (len(shape) != 2, f"pdist only supports 2D tensors, got: {len(shape)}D"),
        (not dc.dtype(self).is_floating_point, "pdist only supports floating-point dtypes"),
        (p < 0, "pdist only supports non-negative p values"),
    )
    for wrong, text in faults:
        if wrong:
            raise OperatorError(text, operator="aten::pdist", argument="self")
    rows, columns = shape
    pairs = rows * (rows - 1) // 2
    if rows <= 1 or not columns:
        nothing = aten.mul.Scalar(aten.sum.default(self), 0)
        return aten.contiguous.default(aten.expand.default(nothing, (max(pairs, 0),)))
    _check_kernel(self, "pdist")
    # Row i goes with the rows after it.
    places = dc.wrap_like(self, aten.triu_indices.default(rows, rows, 1, dtype=int64, device=dc.device(self)))
    first, second = (aten.select.int(places, 0, each) for each in (0, 1))
    return _norm(
        aten.sub.Tensor(aten.index_select.default(self, 0, first), aten.index_select.default(self, 0, second)), p
    )


def _cdist(x1: Array, x2: Array, p: float = 2.0, compute_mode: int | None = None) -> Array:
    operator, one, two = "aten::cdist", dc.shape(x1), dc.shape(x2)
    for name, each in (("X1", x1), ("X2", x2)):
        if ndim(each) < 2:
            raise OperatorError(
                f"cdist only supports at least 2D tensors, {name} got: {ndim(each)}D", operator=operator
            )
        if not dc.dtype(each).is_floating_point:
            raise OperatorError(
                f"cdist only supports floating-point dtypes, {name} got: {dc.dtype(each).name}", operator=operator
            )
    if one[-1] != two[-1]:
        raise ShapeError(
            f"X1 and X2 must have the same number of columns. X1: {one[-1]} X2: {two[-1]}", operator=operator
        )
    if p < 0:
        raise OperatorError("cdist only supports non-negative p values", operator=operator, argument="p")
    mode = 0 if compute_mode is None else compute_mode
    if mode not in (0, 1, 2):
        raise OperatorError(f"possible modes: 0, 1, 2, but was: {mode}", operator=operator, argument="compute_mode")
    _check_kernel(x1, "cdist")
    if dc.dtype(x1) != dc.dtype(x2):
        raise OperatorError(
            f"expected scalar type {dc.dtype(x1).name} but found {dc.dtype(x2).name}", operator=operator
        )
    batch = broadcast_shapes(one[:-2], two[:-2], argument="x2")
    shape = (*batch, one[-2], two[-2])
    if 0 in shape or not one[-1]:
        # A sum of nothing, which has a history where the points have one.
        nothing = aten.add.Tensor(aten.sum.default(x1), aten.sum.default(x2))
        return aten.contiguous.default(aten.expand.default(aten.mul.Scalar(nothing, 0), shape))
    # With many points a product of matrices takes the place of all differences.
    if p == 2 and (mode == 1 or (mode == 0 and max(one[-2], two[-2]) > 25)):
        return aten._euclidean_dist.default(x1, x2)
    return _norm(aten.sub.Tensor(aten.unsqueeze.default(x1, -2), aten.unsqueeze.default(x2, -3)), p)


def _euclidean_dist(x1: Array, x2: Array) -> Array:
    found = RULES["_euclidean_dist"](meta_of(x1), meta_of(x2))
    if 0 in (*dc.shape(x1), *dc.shape(x2)):  # nothing has no greatest coordinate
        return aten.new_zeros.default(x1, found.shape)
    scale = _choose_scale(x1, x2)
    x1, x2 = (aten.div.Tensor(each, scale) for each in (x1, x2))

    def squares(rows: Array) -> Array:
        return aten.sum.dim_IntList(aten.mul.Tensor(rows, rows), [-1], True)

    # |a - b|² = |a|² - 2 ab + |b|², as one product.
    ones = [aten.new_ones.default(each, (*dc.shape(each)[:-1], 1)) for each in (x1, x2)]
    left = aten.cat.default([aten.mul.Scalar(x1, -2), squares(x1), ones[0]], -1)
    right = aten.cat.default([x2, ones[1], squares(x2)], -1)
    product = aten.matmul.default(left, aten.transpose.int(right, -2, -1))
    return aten.mul.Tensor(aten.sqrt.default(aten.clamp_min.default(product, 0)), scale)


def _choose_scale(x1: Array, x2: Array) -> Array:
    """Return the greatest coordinate where its square may overflow or vanish, and 1 elsewhere, which changes no bits."""
    most = aten.maximum.default(*(aten.amax.default(aten.abs.default(each), []) for each in (x1, x2)))
    low, high = (2.0**-40, 2.0**55) if dc.dtype(x1) == float32 else (2.0**-460, 2.0**500)
    usual = aten.logical_or.default(aten.eq.Scalar(most, 0), aten.logical_not.default(aten.isfinite.default(most)))
    inside = aten.logical_and.default(aten.gt.Scalar(most, low), aten.lt.Scalar(most, high))
    return aten.where.ScalarSelf(aten.logical_or.default(usual, inside), 1, most)


def _bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    operator = "aten::bilinear"
    one, two, outer = dc.shape(input1), dc.shape(input2), dc.shape(weight)
    if len(one) != len(two):
        raise ShapeError(f"bilinear(): input dimensions do not match: got {len(one)} and {len(two)}", operator=operator)
    for dim, (a, b) in enumerate(zip(one[:-1], two[:-1], strict=True)):
        if a != b:
            raise ShapeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}", operator=operator
            )
    for name, size, wanted in (("input1", one[-1], outer[1]), ("input2", two[-1], outer[2])):
        if size != wanted:
            raise ShapeError(
                f"bilinear(): {name} size does not match weight size: got {size} but expected {wanted}",
                operator=operator,
            )
    if bias is not None and dc.shape(bias)[0] != outer[0]:
        raise ShapeError(
            f"bilinear(): bias size does not match weight size: got {dc.shape(bias)[0]} but expected {outer[0]}",
            operator=operator,
        )
    count = math.prod(one[:-1])
    flat1 = aten.reshape.default(input1, (1, count, one[-1]))
    flat2 = aten.reshape.default(widen(input2), (1, count, two[-1]))
    turned = aten.mul.Tensor(widen(aten.matmul.default(flat1, weight)), flat2)
    found = cast(aten.sum.dim_IntList(turned, [2], False), dc.dtype(input1))
    found = aten.reshape.default(aten.contiguous.default(aten.transpose.int(found, 0, 1)), (*one[:-1], outer[0]))
    return found if bias is None else aten.add.Tensor(found, bias)
