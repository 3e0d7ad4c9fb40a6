"""Complex numbers in terms of simpler operators.

Conjugates are computed at once: no tensor is a conjugate that waits, and ``is_conj`` is always False.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast
from dispatch_aten.dtypes import float16, float32, float64
from dispatch_aten.errors import OperatorError, UnsupportedError
from dispatch_aten.promotion import Promotion, computation_type

if TYPE_CHECKING:
    pass


def _real(self: Array) -> Array:
    return aten.select.int(aten.view_as_real.default(self), -1, 0) if dc.dtype(self).is_complex else self


def _imag(self: Array) -> Array:
    if not dc.dtype(self).is_complex:
        raise OperatorError(
            "imag is not implemented for tensors with non-complex dtypes.", operator="aten::imag", argument="self"
        )
    return aten.select.int(aten.view_as_real.default(self), -1, 1)


def _conj(self: Array) -> Array:
    return aten._conj_physical.default(self) if dc.dtype(self).is_complex else self


def _conj_physical(self: Array) -> Array:
    if not dc.dtype(self).is_complex:
        return aten.clone.default(self)
    real, imag = _real(self), aten.neg.default(_imag(self))
    return aten.view_as_complex.default(aten.stack.default([real, imag], -1))


def _polar(abs: Array, angle: Array) -> Array:
    if dc.dtype(abs) == dc.dtype(angle) == float16:
        raise UnsupportedError("\"polar_cpu\" not implemented for 'Half'", operator="aten::polar")
    if dc.dtype(abs) not in (float32, float64) or dc.dtype(abs) != dc.dtype(angle):
        return aten.complex.default(abs, angle)  # refuses them
    return aten.complex.default(
        aten.mul.Tensor(abs, aten.cos.default(angle)), aten.mul.Tensor(abs, aten.sin.default(angle))
    )


def _angle(self: Array) -> Array:
    dtype = dc.dtype(self)
    if dtype.is_complex:
        return aten.atan2.default(_imag(self), _real(self))
    self = cast(self, computation_type(Promotion.INT_TO_FLOAT, dtype))
    turned = aten.where.ScalarSelf(aten.lt.Scalar(self, 0), math.pi, aten.zeros_like.default(self))
    return aten.where.self(aten.isnan.default(self), self, turned)


def _sgn(self: Array) -> Array:
    if not dc.dtype(self).is_complex:
        return aten.sign.default(self)
    size = aten.abs.default(self)
    return aten.div.Tensor(self, aten.where.ScalarSelf(aten.eq.Scalar(size, 0), 1, size))


def _complex(real: Array, imag: Array) -> Array:
    real, imag = aten.broadcast_tensors.default([real, imag])
    return aten.view_as_complex.default(aten.stack.default([real, imag], -1))


def _never(self: Array) -> bool:
    return False
