"""Special functions in terms of simpler operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of
from dispatch_aten.families.special.shapes import check_order
from dispatch_aten.promotion import Promotion, computation_type

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT_HALF: Final = math.sqrt(0.5)


def _mvlgamma(self: Array, p: int) -> Array:
    """Add the log-gammas of ``self``, ``self - 1/2``, ``self - 1`` … and a constant."""
    check_order(meta_of(self), p)
    self = cast(self, computation_type(Promotion.INT_TO_FLOAT, dc.dtype(self)))
    steps = aten.div.Scalar(arange_like(self, p), -2)
    shifted = aten.add.Tensor(aten.unsqueeze.default(self, -1), cast(steps, dc.dtype(self)))
    total = aten.sum.dim_IntList(aten.lgamma.default(shifted), [-1])
    return aten.add.Scalar(total, p * (p - 1) / 4 * math.log(math.pi))


def _logit_backward(grad_output: Array, self: Array, eps: float | None = None) -> Array:
    slope = aten.div.Tensor(grad_output, aten.mul.Tensor(self, aten.rsub.Scalar(self, 1)))
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    inside = aten.logical_and.default(aten.ge.Scalar(self, low), aten.le.Scalar(self, high))
    return aten.where.ScalarOther(inside, slope, math.nan if eps is None else 0.0)


def _logit(self: Array, eps: float | None = None) -> Array:
    self = cast(self, computation_type(Promotion.INT_TO_FLOAT, dc.dtype(self)))
    if eps is not None:
        self = aten.clamp.default(self, eps, 1 - eps)
    return aten.log.default(aten.div.Tensor(self, aten.rsub.Scalar(self, 1)))


def _polygamma_inplace(self: Array, n: int) -> Array:
    return aten.copy_.default(self, aten.polygamma.default(n, self))


def _entr(self: Array) -> Array:
    self = cast(self, computation_type(Promotion.INT_TO_FLOAT, dc.dtype(self)))
    inside = aten.where.ScalarOther(aten.eq.Scalar(self, 0), aten.zeros_like.default(self), -math.inf)
    positive = aten.logical_or.default(aten.gt.Scalar(self, 0), aten.isnan.default(self))
    return aten.where.self(positive, aten.neg.default(aten.mul.Tensor(self, aten.log.default(self))), inside)


def _sinc(self: Array) -> Array:
    self = cast(self, computation_type(Promotion.INT_TO_FLOAT, dc.dtype(self)))
    angle = aten.mul.Scalar(self, math.pi)
    is_zero = aten.eq.Scalar(self, 0)
    safe = aten.where.ScalarSelf(is_zero, 1, angle)
    return aten.where.ScalarSelf(is_zero, 1, aten.div.Tensor(aten.sin.default(angle), safe))


def _x_log(log: str) -> Callable[[Array, Array], Array]:
    """Make ``self`` times a logarithm of ``other``, which is 0 for 0 times anything but nan."""

    def kernel(self: Array, other: Array) -> Array:
        product = aten.mul.Tensor(self, getattr(aten, log).default(other))
        is_zero = aten.logical_and.default(aten.eq.Scalar(self, 0), aten.eq.Tensor(other, other))
        return aten.where.ScalarSelf(is_zero, 0, product)

    return kernel
