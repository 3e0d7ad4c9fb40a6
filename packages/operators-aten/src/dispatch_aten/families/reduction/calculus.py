"""Differences, integrals and moments of samples, and reductions that pass over nan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, ndim, numel
from dispatch_aten.dtypes import ScalarType, bool_
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes.dims import wrap_dim, wrap_dims

if TYPE_CHECKING:
    from collections.abc import Sequence


def _cut(self: Array, dim: int, start: int | None, end: int | None) -> Array:
    return aten.slice.Tensor(self, dim, start, end)


def _neighbours(self: Array, dim: int) -> tuple[Array, Array]:
    """Return all elements along ``dim`` but the last, and all but the first."""
    return _cut(self, dim, 0, -1), _cut(self, dim, 1, None)


def _check_no_bool(name: str, *given: Array) -> None:
    if any(dc.dtype(each) == bool_ for each in given):
        raise DtypeError(
            f"{name}: received a bool input for `x` or `y`, but bool is not supported",
            operator=f"aten::{name}",
            argument="y",
        )


def _spacing(name: str, y: Array, x: Array, dim: int) -> Array:
    """Return the steps between samples, shaped to go with those of ``y``."""
    _check_no_bool(name, x, y)
    if ndim(x) == 1:
        if numel(x) != dc.shape(y)[dim]:
            raise ShapeError(
                f"{name}: There must be one `x` value for each sample point", operator=f"aten::{name}", argument="x"
            )
        x = aten.reshape.default(x, [-1 if each == dim else 1 for each in range(ndim(y))])
    elif ndim(x) < ndim(y):
        x = aten.reshape.default(x, (1,) * (ndim(y) - ndim(x)) + dc.shape(x))
    before, after = _neighbours(x, dim)
    return aten.sub.Tensor(after, before)


def _check_step(name: str, y: Array, dx: Number) -> None:
    _check_no_bool(name, y)
    if isinstance(dx, complex):
        raise OperatorError(
            f"{name}: Currently, we only support dx as a real number.", operator=f"aten::{name}", argument="dx"
        )


def _trapezoids(y: Array, dim: int) -> Array:
    before, after = _neighbours(y, dim)
    return aten.add.Tensor(before, after)


def _zeros_without(y: Array, dim: int) -> Array:
    sizes = dc.shape(y)
    return aten.new_zeros.default(y, sizes[:dim] + sizes[dim + 1 :])


def _trapezoid_x(y: Array, x: Array, *, dim: int = -1) -> Array:
    dim = wrap_dim(dim, ndim(y))
    if not dc.shape(y)[dim]:
        return _zeros_without(y, dim)
    steps = _spacing("trapezoid", y, x, dim)
    areas = aten.mul.Tensor(_trapezoids(y, dim), steps)
    return aten.div.Scalar(aten.sum.dim_IntList(areas, [dim]), 2.0)


def _trapezoid_dx(y: Array, *, dx: Number = 1, dim: int = -1) -> Array:
    dim = wrap_dim(dim, ndim(y))
    if not dc.shape(y)[dim]:
        return _zeros_without(y, dim)
    _check_step("trapezoid", y, dx)
    ends = aten.add.Tensor(aten.select.int(y, dim, 0), aten.select.int(y, dim, -1))
    inner = aten.sub.Tensor(aten.sum.dim_IntList(y, [dim]), aten.mul.Scalar(ends, 0.5))
    return aten.mul.Scalar(inner, dx)


def _cumulative_x(y: Array, x: Array, *, dim: int = -1) -> Array:
    dim = wrap_dim(dim, ndim(y))
    steps = _spacing("cumulative_trapezoid", y, x, dim)
    areas = aten.mul.Tensor(_trapezoids(y, dim), steps)
    return aten.div.Scalar(aten.cumsum.default(areas, dim), 2.0)


def _cumulative_dx(y: Array, *, dx: Number = 1, dim: int = -1) -> Array:
    dim = wrap_dim(dim, ndim(y))
    _check_step("cumulative_trapezoid", y, dx)
    return aten.cumsum.default(aten.mul.Scalar(_trapezoids(y, dim), dx / 2), dim)


def _check_joined(self: Array, other: Array | None, dim: int) -> None:
    if other is None:
        return
    if ndim(other) != ndim(self):
        raise ShapeError(
            "diff expects prepend or append to be the same dimension as input",
            operator="aten::diff",
            argument="prepend",
        )
    for each, (have, wanted) in enumerate(zip(dc.shape(other), dc.shape(self), strict=True)):
        if have != wanted and each != dim:
            raise ShapeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({each}) = {wanted}, but got tensor.size({each}) = {have}",
                operator="aten::diff",
                argument="prepend",
            )


def _diff(self: Array, n: int = 1, dim: int = -1, prepend: Array | None = None, append: Array | None = None) -> Array:
    if not ndim(self):
        raise ShapeError("diff expects input to be at least one-dimensional", operator="aten::diff", argument="self")
    if n < 0:
        raise OperatorError(f"order must be non-negative but got {n}", operator="aten::diff", argument="n")
    dim = wrap_dim(dim, ndim(self))
    _check_joined(self, prepend, dim)
    _check_joined(self, append, dim)
    if n == 0:
        return aten.clone.default(self)
    joined = [each for each in (prepend, self, append) if each is not None]
    found = aten.cat.default(joined, dim) if len(joined) > 1 else self
    subtract: Any = aten.logical_xor.default if dc.dtype(found) == bool_ else aten.sub.Tensor
    for _ in range(min(n, dc.shape(found)[dim])):
        before, after = _neighbours(found, dim)
        found = subtract(after, before)
    return found


def _refuse_gradient(text: str, argument: str) -> OperatorError:
    return OperatorError(text, operator="aten::gradient", argument=argument)


def _check_gradient(self: Array, count: int | None, dims: Sequence[int] | None, edge_order: int) -> list[int]:
    """Return the dimensions to differentiate along."""
    wanted = list(wrap_dims(dims, ndim(self), all_if_empty=False))
    if count is not None and count != len(wanted):
        raise _refuse_gradient(
            "torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to "
            f"'self.dim() = {ndim(self)}', since dim argument was not given, but got a list of length {count}"
            if dims is None
            else f"torch.gradient expected spacing to be unspecified, a scalar, or it's spacing and dim arguments to "
            f"have the same length, but got a spacing argument of length {count} and a dim argument of length "
            f"{len(wanted)}.",
            "spacing",
        )
    if edge_order not in (1, 2):
        raise _refuse_gradient("torch.gradient only supports edge_order=1 and edge_order=2.", "edge_order")
    for dim in wanted:
        if not ndim(self) or dc.shape(self)[dim] < edge_order + 1:
            raise _refuse_gradient(
                "torch.gradient expected each dimension size to be at least edge_order+1", "edge_order"
            )
    return wanted


def _weigh(self: Array, dim: int, places: Sequence[int], weights: Sequence[Any]) -> Array:
    """Return the weighted sum of a few rows, as a row."""
    rows = []
    for place, weight in zip(places, weights, strict=True):
        row = _cut(self, dim, place, place + 1 if place != -1 else None)
        rows.append(aten.mul.Scalar(row, weight) if isinstance(weight, (int, float)) else aten.mul.Tensor(row, weight))
    total = rows[0]
    for row in rows[1:]:
        total = aten.add.Tensor(total, row)
    return total


def _differentiate_evenly(self: Array, dim: int, step: Number, edge_order: int) -> Array:
    inner = aten.div.Scalar(aten.sub.Tensor(_cut(self, dim, 2, None), _cut(self, dim, 0, -2)), 2.0 * step)
    if edge_order == 1:
        first, last = _weigh(self, dim, (1, 0), (1, -1)), _weigh(self, dim, (-1, -2), (1, -1))
    else:
        first = _weigh(self, dim, (0, 1, 2), (-1.5, 2, -0.5))
        last = _weigh(self, dim, (-1, -2, -3), (1.5, -2, 0.5))
    return aten.cat.default([aten.div.Scalar(first, step), inner, aten.div.Scalar(last, step)], dim)


def _differentiate_unevenly(self: Array, dim: int, places: Array, edge_order: int) -> Array:
    shape = [-1 if each == dim else 1 for each in range(ndim(self))]
    before, after = _neighbours(aten.reshape.default(places, shape), dim)
    steps = aten.sub.Tensor(after, before)
    left, right = _neighbours(steps, dim)
    both = aten.add.Tensor(left, right)
    a = aten.neg.default(aten.div.Tensor(right, aten.mul.Tensor(left, both)))
    b = aten.div.Tensor(aten.sub.Tensor(right, left), aten.mul.Tensor(left, right))
    c = aten.div.Tensor(left, aten.mul.Tensor(right, both))
    rows = [_cut(self, dim, 0, -2), _cut(self, dim, 1, -1), _cut(self, dim, 2, None)]
    terms = [aten.mul.Tensor(row, weight) for row, weight in zip(rows, (a, b, c), strict=True)]
    inner = aten.add.Tensor(aten.add.Tensor(terms[0], terms[1]), terms[2])
    ends = []
    for near, far, sign in (((0, 1, 2), (0, 1), -1), ((-1, -2, -3), (-1, -2), 1)):
        first = _cut(steps, dim, far[0], far[0] + 1 if far[0] != -1 else None)
        if edge_order == 1:
            ends.append(aten.div.Tensor(_weigh(self, dim, near[:2], (sign, -sign)), first))
            continue
        second = _cut(steps, dim, far[1], far[1] + 1)
        total = aten.add.Tensor(first, second)
        weights = (
            aten.div.Tensor(aten.add.Tensor(first, total), aten.mul.Tensor(first, total)),
            aten.neg.default(aten.div.Tensor(total, aten.mul.Tensor(first, second))),
            aten.div.Tensor(first, aten.mul.Tensor(second, total)),
        )
        ends.append(aten.mul.Scalar(_weigh(self, dim, near, weights), sign))
    return aten.cat.default([ends[0], inner, ends[1]], dim)


def _gradient_number(
    self: Array,
    *,
    spacing: Number | Sequence[Number] | None = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> list[Array]:
    dims = [dim] if isinstance(dim, int) else dim
    count = len(spacing) if isinstance(spacing, (list, tuple)) else None
    wanted = _check_gradient(self, count, dims, edge_order)
    steps: list[Any] = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing]
    steps = steps * len(wanted) if len(steps) == 1 else steps
    return [_differentiate_evenly(self, each, step, edge_order) for each, step in zip(wanted, steps, strict=True)]


def _gradient_places(
    self: Array, *, spacing: Sequence[Array], dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> list[Array]:
    dims = [dim] if isinstance(dim, int) else dim
    wanted = _check_gradient(self, None, dims, edge_order)
    if len(spacing) != len(wanted):
        raise _refuse_gradient(
            "torch.gradient expected spacing to be unspecified, a scalar, or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(spacing)} and a dim argument of length "
            f"{len(wanted)}.",
            "spacing",
        )
    for place, (where, each) in enumerate(zip(spacing, wanted, strict=True)):
        if ndim(where) != 1:
            raise _refuse_gradient("torch.gradient expected each element of spacing to have one dimension", "spacing")
        if numel(where) != dc.shape(self)[each]:
            raise _refuse_gradient(
                f"torch.gradient expected spacing[{place}] to have the size of dimension {each}", "spacing"
            )
        if dc.device(where) != dc.device(self):
            raise _refuse_gradient("torch.gradient expected each tensor to be on the same device", "spacing")
    return [_differentiate_unevenly(self, each, where, edge_order) for each, where in zip(wanted, spacing, strict=True)]


def _nansum(
    self: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: ScalarType | None = None
) -> Array:
    if dc.dtype(self).is_complex:
        raise OperatorError("nansum does not support complex inputs", operator="aten::nansum", argument="self")
    if dc.dtype(self).is_floating_point:
        self = aten.masked_fill.Scalar(self, aten.isnan.default(self), 0)
    return aten.sum.dim_IntList(self, dim, keepdim, dtype=dtype)


def _nanmean(
    self: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: ScalarType | None = None
) -> Array:
    if not dc.dtype(self).is_differentiable:
        raise DtypeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {dc.dtype(self).name}",
            operator="aten::nanmean",
            argument="self",
        )
    known = aten.logical_not.default(aten.isnan.default(self))
    counts = aten.sum.dim_IntList(known, dim, keepdim)
    return aten.div.Tensor(aten.nansum.default(self, dim, keepdim, dtype=dtype), counts)


def _std_mean(
    self: Array, dim: int | Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Array, Array]:
    if not dc.dtype(self).is_differentiable:
        raise DtypeError(
            "std_mean only support floating point and complex dtypes", operator="aten::std_mean", argument="self"
        )
    std = aten.std.correction(self, dim, correction=correction, keepdim=keepdim)
    return std, aten.mean.dim(self, dim, keepdim)


def _renorm(self: Array, p: Number, dim: int, maxnorm: Number) -> Array:
    text = ""
    if isinstance(p, complex):
        text = "renorm: p must be real-valued"
    elif p <= 0:
        text = "renorm: non-positive-norm not supported"
    elif isinstance(maxnorm, complex):
        text = "renorm: maxnorm must be real-valued"
    elif maxnorm < 0:
        text = f"renorm: expected maxnorm to be >= 0 but got {maxnorm}"
    elif ndim(self) < 2:
        text = f"renorm: input needs at least 2 dimensions, got {ndim(self)} dimensions"
    if text:
        raise OperatorError(text, operator="aten::renorm", argument="self")
    dim = wrap_dim(dim, ndim(self))
    others = [each for each in range(ndim(self)) if each != dim]
    norm = aten.linalg_vector_norm.default(self, p, others, True)
    scale = aten.mul.Scalar(aten.reciprocal.default(aten.add.Scalar(norm, 1e-7)), maxnorm)
    scaled = aten.mul.Tensor(self, aten.where.ScalarOther(aten.gt.Scalar(norm, maxnorm), scale, 1))
    return aten.contiguous.default(scaled)
