"""Gradients of reductions and scans."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dispatch_aten.decompositions._shared import Array, aten, cast, count_of
from dispatch_aten.dtypes import float32, int64
from dispatch_aten.gradients._shared import divide_or_zero, max_one, sgn, spread, with_reduced_dims
from dispatch_aten.shapes.dims import wrap_dims
from dispatch_core import dtype as dtype_of
from dispatch_core import shape as shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "aminmax_gradient",
    "cumprod_gradient",
    "extremum_gradient",
    "extremum_of_all_gradient",
    "logcumsumexp_gradient",
    "logsumexp_gradient",
    "norm_gradient",
    "prod_dim_gradient",
    "prod_gradient",
    "reversed_cumsum",
    "std_gradient",
    "var_gradient",
    "var_mean_gradient",
]


def extremum_gradient(grad: Array, self: Array, result: Array, dim: int | Sequence[int] | None, keepdim: bool) -> Array:
    """Share the gradient among all elements that are the extremum."""
    count = len(shape_of(self))
    dims = list(wrap_dims(dim, count))
    mask = aten.eq.Tensor(with_reduced_dims(result, count, dim, keepdim), self)
    ties = aten.sum.dim_IntList(mask, dims, True) if dims else aten.ones_like.default(mask, dtype=int64)
    share = aten.div.Tensor(with_reduced_dims(grad, count, dim, keepdim), ties)
    return aten.mul.Tensor(share, mask)


def extremum_of_all_gradient(grad: Array, self: Array, result: Array) -> Array:
    """Share the gradient among all elements that are the extremum, which are the nans where that is nan."""
    same = aten.eq.Tensor(self, result)
    mask = aten.where.self(aten.ne.Tensor(result, result), aten.ne.Tensor(self, self), same)
    return aten.mul.Tensor(aten.div.Tensor(grad, aten.sum.default(mask)), mask)


def aminmax_gradient(
    grads: Sequence[Array | None], self: Array, least: Array, most: Array, dim: int | None, keepdim: bool
) -> Array:
    """Add the gradients of both extrema."""
    parts = [
        extremum_gradient(grad, self, result, dim, keepdim)
        for grad, result in zip(grads, (least, most), strict=True)
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else aten.add.Tensor(*parts)


def reversed_cumsum(grad: Array, dim: int) -> Array:
    """Return the sums from each element to the last."""
    if not shape_of(grad):
        return grad
    return aten.flip.default(aten.cumsum.default(aten.flip.default(grad, [dim]), dim), [dim])


def _products_without(self: Array, dim: int) -> Array:
    """Return for each element the product of all others along ``dim``, zeros among them or not."""
    size = shape_of(self)[dim]
    one = aten.ones_like.default(aten.slice.Tensor(self, dim, 0, min(size, 1)))
    before = aten.cumprod.default(aten.cat.default([one, aten.slice.Tensor(self, dim, 0, size - 1)], dim), dim)
    backwards = aten.flip.default(aten.slice.Tensor(self, dim, 1, size), [dim])
    after = aten.cumprod.default(aten.cat.default([one, backwards], dim), dim)
    return aten.mul.Tensor(before, aten.flip.default(after, [dim]))


def prod_gradient(grad: Array, self: Array) -> Array:
    """Return the gradient of the product of all elements, computed in the dtype of the product."""
    self = cast(self, dtype_of(grad))
    sizes = shape_of(self)
    if not sizes or 0 in sizes:
        return aten.expand.default(grad, sizes) if not sizes else aten.mul.Tensor(grad, self)
    flat = aten.reshape.default(self, (-1,))
    return aten.reshape.default(aten.mul.Tensor(grad, _products_without(flat, 0)), sizes)


def prod_dim_gradient(grad: Array, self: Array, dim: int, keepdim: bool) -> Array:
    """Return the gradient of the products along ``dim``, computed in their dtype."""
    self = cast(self, dtype_of(grad))
    sizes = shape_of(self)
    if not sizes or 0 in sizes:
        even = spread(grad, sizes, dim, keepdim)
        return aten.mul.Tensor(even, self) if sizes else even
    return aten.mul.Tensor(with_reduced_dims(grad, len(sizes), dim, keepdim), _products_without(self, dim))


def cumprod_gradient(grad: Array, self: Array, result: Array, dim: int) -> Array:
    """Return the gradient of running products.

    That of element k is the product before it, times g[k] + x[k+1] * (g[k+1] + x[k+2] * …), which is summed up in as many
    steps as the length has binary digits. Nothing is divided, so zeros and second derivatives need no care.
    """
    if not shape_of(self):
        return grad
    size, cut = shape_of(self)[dim], aten.slice.Tensor
    if not size:
        return aten.mul.Tensor(grad, self)
    one = aten.ones_like.default(cut(self, dim, 0, 1))
    before = aten.cat.default([one, cut(result, dim, 0, size - 1)], dim)
    sums, factors = grad, aten.cat.default([cut(self, dim, 1, size), one], dim)
    step = 1
    while step < size:
        left = size - step
        here, there = cut(factors, dim, 0, left), cut(factors, dim, step, size)
        added = aten.add.Tensor(cut(sums, dim, 0, left), aten.mul.Tensor(here, cut(sums, dim, step, size)))
        sums = aten.cat.default([added, cut(sums, dim, left, size)], dim)
        factors = aten.cat.default([aten.mul.Tensor(here, there), cut(factors, dim, left, size)], dim)
        step *= 2
    return aten.mul.Tensor(before, sums)


def var_gradient(
    grad: Array, self: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
) -> Array:
    """Return the gradient of the variance."""
    away = _shares_away(self, 2.0, dim, correction)
    return aten.mul.Tensor(with_reduced_dims(grad, len(shape_of(self)), dim, keepdim), away)


def _shares_away(self: Array, factor: float, dim: int | Sequence[int] | None, correction: float | None) -> Array:
    """Return each element's distance to the mean times ``factor``, divided by the degrees of freedom."""
    free = count_of(shape_of(self), dim) - (1 if correction is None else correction)
    away = aten.sub.Tensor(self, aten.mean.dim(self, dim, True))
    if free > 0:
        return aten.mul.Scalar(away, factor / free)
    return aten.mul.Tensor(away, aten.new_full.default(self, (), math.nan if free < 0 else math.inf))


def std_gradient(
    grad: Array, self: Array, result: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
) -> Array:
    """Return the gradient of the standard deviation; zero where it is zero.

    The distances are divided by it first: the gradient divided by a small deviation would overflow.
    """
    count = len(shape_of(self))
    slope = divide_or_zero(_shares_away(self, 1.0, dim, correction), with_reduced_dims(result, count, dim, keepdim))
    return aten.mul.Tensor(with_reduced_dims(grad, count, dim, keepdim), slope)


def var_mean_gradient(
    grads: Sequence[Array | None],
    self: Array,
    dim: int | Sequence[int] | None,
    correction: float | None,
    keepdim: bool,
) -> Array:
    """Add the gradients of variance and mean."""
    of_var, of_mean = grads
    sizes = shape_of(self)
    parts = []
    if of_var is not None:
        parts.append(var_gradient(of_var, self, dim, correction, keepdim))
    if of_mean is not None:
        parts.append(aten.div.Scalar(spread(of_mean, sizes, dim, keepdim), max_one(count_of(sizes, dim))))
    return parts[0] if len(parts) == 1 else aten.add.Tensor(*parts)


def logsumexp_gradient(grad: Array, self: Array, result: Array, dim: int | Sequence[int], keepdim: bool) -> Array:
    """Return the gradient of log-sum-exp: the softmax."""
    count = len(shape_of(self))
    most = with_reduced_dims(result, count, dim, keepdim)
    weights = aten.exp.default(aten.sub.Tensor(self, most))
    return aten.mul.Tensor(with_reduced_dims(grad, count, dim, keepdim), weights)


def logcumsumexp_gradient(grad: Array, self: Array, result: Array, dim: int) -> Array:
    """Return the gradient of running sums of exponentials: the sum over all j from i on of ``grad[j] * exp(x[i] - y[j])``.

    ``sums[i]`` collects ``grad[j] * exp(y[i] - y[j])`` in as many steps as the length has binary digits. The results y never
    fall, so no factor exceeds 1, and there is no logarithm of the gradient: the formula stays linear in it. Elements that
    are -inf get zeros, also where all before them are.
    """
    if not shape_of(self):
        return grad
    size, cut, ends = shape_of(self)[dim], aten.slice.Tensor, result
    if not dtype_of(result).is_complex:
        ends = aten.nan_to_num.default(result, math.nan)  # differences of two equal infinities are nan
        result = aten.nan_to_num.default(result, math.nan, math.inf)
    sums, step = grad, 1
    while step < size:
        left = size - step
        factors = aten.exp.default(aten.sub.Tensor(cut(ends, dim, 0, left), cut(ends, dim, step, size)))
        added = aten.add.Tensor(cut(sums, dim, 0, left), aten.mul.Tensor(factors, cut(sums, dim, step, size)))
        sums = aten.cat.default([added, cut(sums, dim, left, size)], dim)
        step *= 2
    return aten.mul.Tensor(sums, aten.exp.default(aten.sub.Tensor(self, result)))


def _one_for_zero(self: Array) -> Array:
    return aten.masked_fill.Scalar(self, aten.eq.Scalar(self, 0), 1)


def norm_gradient(
    grad: Array,
    self: Array,
    order: float | None,
    result: Array,
    dim: int | Sequence[int] | None,
    keepdim: bool,
) -> Array:
    """Return the gradient of a vector norm; where the norm is zero and has no gradient, zero."""
    order = 2.0 if order is None else order
    count = len(shape_of(self))
    grad = with_reduced_dims(grad, count, dim, keepdim)
    norm = with_reduced_dims(result, count, dim, keepdim)
    if order == 0:
        return aten.zeros_like.default(self)
    if order == 1:
        return aten.mul.Tensor(grad, sgn(self))
    if dtype_of(self).itemsize < float32.itemsize:
        # The reciprocal of a small half, by which some libraries multiply, is infinite.
        wide = [cast(each, float32) for each in (grad, self, norm)]
        return cast(norm_gradient(wide[0], wide[1], order, wide[2], dim, True), dtype_of(self))
    if order == 2:
        unit = aten.div.Tensor(self, norm)
        return aten.mul.Tensor(grad, aten.masked_fill.Scalar(unit, aten.eq.Scalar(norm, 0), 0))
    size = aten.abs.default(self)
    if math.isinf(order):
        return aten.mul.Tensor(sgn(self), extremum_gradient(grad, size, norm, dim, keepdim=True))
    # A share is at most 1, so that its power loses no digits that the gradient needs. Shares that are 0 stay so divided by
    # 1, and so do their derivatives.
    power, whole = order - 1, _one_for_zero(norm)
    if -1 < power < 1:
        # The share may be less than any number though its power is not: roots keep it in range.
        power, size, whole = 2 * power, aten.sqrt.default(size), aten.sqrt.default(whole)
    slope = aten.mul.Tensor(sgn(self), aten.pow.Tensor_Scalar(aten.div.Tensor(size, whole), power))
    if order < 1:
        slope = aten.masked_fill.Scalar(slope, aten.eq.Scalar(self, 0), 0)
    if order > 2:
        return aten.mul.Tensor(grad, slope)
    return aten.mul.Tensor(grad, aten.masked_fill.Scalar(slope, aten.eq.Scalar(norm, 0), 0))
