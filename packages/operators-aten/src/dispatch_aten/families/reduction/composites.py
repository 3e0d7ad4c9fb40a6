"""Reductions in terms of a few of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._layout import lay_out
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, count_of, meta_of, ndim, numel
from dispatch_aten.dtypes import ScalarType, bool_, float32, float64, int64, uint8
from dispatch_aten.promotion import Promotion, computation_type
from dispatch_aten.shapes import RULES, warn_of_freedom
from dispatch_aten.shapes.dims import wrap_dim, wrap_dims

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch_aten.shapes.meta import TensorMeta


def _sum(self: Array, *, dtype: ScalarType | None = None) -> Array:
    return aten.sum.dim_IntList(self, None, False, dtype=dtype)


def _mean(self: Array, *, dtype: ScalarType | None = None) -> Array:
    return aten.mean.dim(self, None, False, dtype=dtype)


def _mean_dim(
    self: Array, dim: int | Sequence[int] | None, keepdim: bool = False, *, dtype: ScalarType | None = None
) -> Array:
    meta: TensorMeta = RULES["mean.dim"](meta_of(self), dim, keepdim, dtype=dtype)
    total = aten.sum.dim_IntList(self, dim, keepdim, dtype=meta.dtype)
    return aten.div.Scalar(total, count_of(dc.shape(self), dim))


def _prod(self: Array, *, dtype: ScalarType | None = None) -> Array:
    return aten.prod.dim_int(aten.reshape.default(self, (-1,) if numel(self) else (0,)), 0, False, dtype=dtype)


def _amin(self: Array, dim: int | Sequence[int] = (), keepdim: bool = False) -> Array:
    RULES["amin"](meta_of(self), dim, keepdim)
    if dc.dtype(self) == bool_:
        return aten.logical_not.default(aten.amax.default(aten.logical_not.default(self), dim, keepdim))
    # An integer's opposite may not exist, but -1 less the integer does.
    turned = aten.neg.default if dc.dtype(self).is_floating_point else (lambda array: aten.rsub.Scalar(array, -1))
    return turned(aten.amax.default(turned(self), dim, keepdim))


def _place_of(name: str) -> Callable[..., Array]:
    """Make ``argmax`` or ``argmin``: the first place where the extremum stands; nan counts as one."""

    def kernel(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        meta: TensorMeta = RULES[f"arg{name}"](meta_of(self), dim, keepdim)
        flat = self if dim is not None and ndim(self) else aten.reshape.default(self, (-1,))
        where = wrap_dim(dim, ndim(self)) if dim is not None and ndim(self) else 0
        count = dc.shape(flat)[where]
        hit = aten.eq.Tensor(flat, getattr(aten, f"a{name}").default(flat, [where], True))
        if dc.dtype(self).is_differentiable:
            hit = aten.logical_or.default(hit, aten.isnan.default(flat))
        line = aten.view.default(arange_like(self, count), [-1 if each == where else 1 for each in range(ndim(flat))])
        places = aten.where.self(hit, line, aten.new_full.default(line, (), count))
        return aten.reshape.default(aten.amin.default(places, [where], False), meta.shape)

    return kernel


def _extremum(name: str) -> Callable[..., Array]:
    def kernel(self: Array) -> Array:
        RULES[name](meta_of(self))
        return getattr(aten, f"a{name}").default(self, (), False)

    return kernel


def _extremum_with_indices(name: str) -> Callable[..., tuple[Array, Array]]:
    outside = -math.inf if name == "max" else math.inf

    def kernel(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        RULES[f"{name}.dim"](meta_of(self), dim, keepdim)
        numbers = cast(self, uint8) if dc.dtype(self) == bool_ else self
        indices = getattr(aten, f"arg{name}").default(numbers, dim, True)
        if not ndim(self):
            return aten.clone.default(self), aten.reshape.default(indices, ())
        found = self
        if dc.dtype(self).is_floating_point:
            # The element itself, of which a zero of the other sign may be as large.
            count, behind = dc.shape(self)[dim], ndim(self) - 1 - wrap_dim(dim, ndim(self))
            line = aten.view.default(arange_like(self, count), [count, *[1] * behind])
            found = aten.where.ScalarOther(aten.eq.Tensor(line, indices), self, outside)
        values = getattr(aten, f"a{name}").default(found, [dim], True)
        if keepdim:
            return values, indices
        return aten.squeeze.dim(values, dim), aten.squeeze.dim(indices, dim)

    return kernel


def _any_like(name: str) -> dict[str, Callable[..., Array]]:
    """Make the kernels of ``any`` and ``all`` from sums of truth values."""

    def reduce(self: Array, dims: Sequence[int], keepdim: bool) -> Array:
        truth = aten.ne.Scalar(self, 0)
        if name == "all":
            truth = aten.logical_not.default(truth)
        if dims or not ndim(self):
            truth = aten.gt.Scalar(aten.sum.dim_IntList(truth, list(dims), keepdim), 0)
        if name == "all":
            truth = aten.logical_not.default(truth)
        return cast(truth, uint8) if dc.dtype(self) == uint8 else truth

    def all_dims(self: Array) -> Array:
        return reduce(self, tuple(range(ndim(self))), False)

    def one_dim(self: Array, dim: int, keepdim: bool = False) -> Array:
        return reduce(self, (wrap_dim(dim, ndim(self)),), keepdim)

    def some_dims(self: Array, dim: Sequence[int] | None = None, keepdim: bool = False) -> Array:
        found = reduce(self, wrap_dims(dim, ndim(self), all_if_empty=False), keepdim)
        return found if dim else lay_out(found, RULES[f"{name}.dims"](meta_of(self), dim, keepdim))

    return {name: all_dims, f"{name}.dim": one_dim, f"{name}.dims": some_dims}


def _var_mean(
    self: Array,
    dim: int | Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    name: str = "var_mean",
) -> tuple[Array, Array]:
    """Return variance and mean; in two passes, for the precision of torch's kernels."""
    RULES["var.correction"](meta_of(self), dim, correction=correction, keepdim=keepdim)
    mean = aten.mean.dim(self, dim, True)
    away = aten.sub.Tensor(self, mean)
    free = count_of(dc.shape(self), dim) - (1 if correction is None else correction)
    if free <= 0:
        warn_of_freedom(name)
    squares = aten.sum.dim_IntList(aten.mul.Tensor(away, away), dim, keepdim)
    if not keepdim:
        mean = aten.reshape.default(mean, dc.shape(squares))
    return aten.div.Tensor(squares, aten.new_full.default(squares, (), max(free, 0))), mean


def _older(name: str) -> dict[str, Callable[..., Any]]:
    """Make the overloads that take ``unbiased`` in place of ``correction``."""

    def everything(self: Array, unbiased: bool = True) -> Any:
        return getattr(aten, name).correction(self, None, correction=int(unbiased), keepdim=False)

    def some(self: Array, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False) -> Any:
        return getattr(aten, name).correction(self, dim, correction=int(unbiased), keepdim=keepdim)

    return {name: everything, f"{name}.dim": some}


def _vector_norm(
    self: Array,
    ord: float = 2,  # torch's name
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> Array:
    RULES["linalg_vector_norm"](meta_of(self), ord, dim, keepdim, dtype=dtype)
    size = aten.abs.default(self if dtype is None else cast(self, dtype))
    dims = list(wrap_dims(dim, ndim(self)))
    if ord == math.inf:
        return aten.amax.default(size, dims, keepdim) if dims else size
    if ord == -math.inf:
        return aten.amin.default(size, dims, keepdim) if dims else size
    if ord == 0:
        return aten.sum.dim_IntList(aten.ne.Scalar(size, 0), dims, keepdim, dtype=dc.dtype(size))
    if ord == 1:
        return aten.sum.dim_IntList(size, dims, keepdim)
    if dc.dtype(size).itemsize < float32.itemsize:
        # Their squares are rounded to float32, as torch does.
        return cast(_vector_norm(cast(size, float32), ord, dims, keepdim), dc.dtype(size))
    if not dims or not numel(size):
        return _take_root(_sum_powers(size, ord, dims, keepdim), ord)
    # Where the powers overflow or lose digits, the elements are divided by the greatest one first (by the least for a
    # negative order); as all are computed, on devices without a kernel of their own, a choice between them costs least.
    powers = _sum_powers(size, ord, dims, keepdim)
    most = (aten.amax if ord > 0 else aten.amin).default(size, dims, True)
    most = aten.where.ScalarOther(_is_between(most, 0, math.inf), most, 1)
    scaled = _take_root(_sum_powers(aten.div.Tensor(size, most), ord, dims, keepdim), ord)
    scaled = aten.mul.Tensor(scaled, aten.reshape.default(most, dc.shape(scaled)))
    limits = _SAFE[dc.dtype(size)]
    return aten.where.self(_is_between(powers, *limits), _take_root(powers, ord), scaled)


#: dtype → the bounds of a sum of powers that has lost no digits.
_SAFE: Final = {
    float32: (2.0**-103, 2.0**127),
    float64: (2.0**-970, 2.0**1023),
}


def _is_between(self: Array, low: float, high: float) -> Array:
    return aten.logical_and.default(aten.gt.Scalar(self, low), aten.lt.Scalar(self, high))


def _sum_powers(size: Array, order: float, dims: list[int], keepdim: bool) -> Array:
    powers = aten.mul.Tensor(size, size) if order == 2 else aten.pow.Tensor_Scalar(size, order)
    return aten.sum.dim_IntList(powers, dims, keepdim)


def _take_root(powers: Array, order: float) -> Array:
    return aten.sqrt.default(powers) if order == 2 else aten.pow.Tensor_Scalar(powers, 1.0 / order)


def _norm(
    self: Array,
    p: float | None = 2,
    dim: int | Sequence[int] = (),
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> Array:
    RULES["norm.ScalarOpt_dim"](meta_of(self if dtype is None else cast(self, dtype)), p, dim, keepdim)
    return aten.linalg_vector_norm.default(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _logsumexp(self: Array, dim: int | Sequence[int], keepdim: bool = False) -> Array:
    self = cast(self, computation_type(Promotion.INT_TO_FLOAT, dc.dtype(self)))
    if not numel(self):
        return aten.log.default(aten.sum.dim_IntList(aten.exp.default(self), dim, keepdim))
    dims = list(wrap_dims(dim, ndim(self)))
    real = aten._to_copy.default(self, dtype=dc.dtype(self).to_real()) if dc.dtype(self).is_complex else self
    most = aten.amax.default(real, dims, True)
    # An infinite maximum would end in inf - inf.
    most = aten.where.self(aten.isinf.default(most), aten.new_zeros.default(most, ()), most)
    total = aten.sum.dim_IntList(aten.exp.default(aten.sub.Tensor(self, most)), dims, keepdim)
    return aten.add.Tensor(aten.log.default(total), aten.reshape.default(most, dc.shape(total)))


def _count_nonzero(self: Array, dim: int | Sequence[int] | None = None) -> Array:
    return aten.sum.dim_IntList(aten.ne.Scalar(self, 0), dim, False, dtype=int64)


def _aminmax(self: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    RULES["aminmax"](meta_of(self), dim=dim, keepdim=keepdim)
    dims = [] if dim is None else [dim]
    return aten.amin.default(self, dims, keepdim), aten.amax.default(self, dims, keepdim)


def _sum_to_size(self: Array, size: Sequence[int]) -> Array:
    shape, wanted = dc.shape(self), tuple(size)
    RULES["sum_to_size"](meta_of(self), wanted)
    if not wanted:
        return aten.sum.default(self)
    if shape == wanted:
        return self
    extra = len(shape) - len(wanted)
    dims = [dim for dim, have in enumerate(shape) if dim < extra or (wanted[dim - extra] == 1 and have != 1)]
    total = aten.sum.dim_IntList(self, dims, True) if dims else self
    return aten.view.default(total, wanted)


COMPOSITES: Final[dict[str, Callable[..., Any]]] = {**_older("var"), **_older("std"), **_older("var_mean")}

FORMULAS: Final[dict[str, Callable[..., Any]]] = {**_any_like("any"), **_any_like("all")}
