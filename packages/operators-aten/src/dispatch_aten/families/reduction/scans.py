"""Running extrema and sums of exponentials, in as many steps as the length has binary digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, meta_of, ndim
from dispatch_aten.dtypes import int64
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim

if TYPE_CHECKING:
    from collections.abc import Callable


def _scan(parts: list[Array], dim: int, combine: Callable[[list[Array], list[Array]], list[Array]]) -> list[Array]:
    """Combine each element with all before it: with the one before, then the two, the four before."""
    size = dc.shape(parts[0])[dim]
    step = 1
    while step < size:
        heads = [aten.slice.Tensor(each, dim, 0, step) for each in parts]
        earlier = [aten.slice.Tensor(each, dim, 0, size - step) for each in parts]
        later = [aten.slice.Tensor(each, dim, step, size) for each in parts]
        joined = combine(earlier, later)
        parts = [aten.cat.default([head, tail], dim) for head, tail in zip(heads, joined, strict=True)]
        step *= 2
    return parts


def _extremum(name: str) -> Callable[..., tuple[Array, Array]]:
    def choose(earlier: list[Array], later: list[Array]) -> list[Array]:
        compare: Any = aten.ge.Tensor if name == "cummax" else aten.le.Tensor
        taken = compare(later[0], earlier[0])
        if dc.dtype(later[0]).is_floating_point:
            known = aten.logical_not.default(aten.isnan.default(earlier[0]))
            taken = aten.logical_or.default(aten.logical_and.default(taken, known), aten.isnan.default(later[0]))
        return [aten.where.self(taken, new, old) for old, new in zip(earlier, later, strict=True)]

    def kernel(self: Array, dim: int) -> tuple[Array, Array]:
        RULES[name](meta_of(self), dim)
        if not ndim(self):
            return aten.clone.default(self), aten.zeros_like.default(self, dtype=int64)
        dim = wrap_dim(dim, ndim(self))
        shape = [-1 if each == dim else 1 for each in range(ndim(self))]
        line = aten.view.default(arange_like(self, dc.shape(self)[dim]), shape)
        values, places = _scan([self, aten.expand.default(line, dc.shape(self))], dim, choose)
        return aten.clone.default(values, memory_format=0), aten.clone.default(places, memory_format=0)

    return kernel


def _add_logarithms(earlier: list[Array], later: list[Array]) -> list[Array]:
    most = aten.maximum.default(earlier[0], later[0])
    least = aten.minimum.default(earlier[0], later[0])
    away = aten.exp.default(aten.sub.Tensor(least, most))
    # Two equal infinities are not to be subtracted.
    away = aten.masked_fill.Scalar(away, aten.isinf.default(most), 0)
    return [aten.add.Tensor(most, aten.log1p.default(away))]


def _logcumsumexp(self: Array, dim: int) -> Array:
    RULES["logcumsumexp"](meta_of(self), dim)
    if not ndim(self):
        return aten.clone.default(self)
    if dc.dtype(self).is_complex:
        return aten.log.default(aten.cumsum.default(aten.exp.default(self), dim))
    [found] = _scan([self], wrap_dim(dim, ndim(self)), _add_logarithms)
    return aten.clone.default(found, memory_format=0)


def _cummaxmin_backward(grad: Array, input: Array, indices: Array, dim: int) -> Array:
    if not ndim(input):
        return grad
    return aten.scatter_add.default(aten.new_zeros.default(grad, dc.shape(input)), dim, indices, grad)
