"""Decompositions that compare values with a tolerance, as a whole or with a set."""

from __future__ import annotations

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast_to_floating, is_array
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_aten.promotion import Number


def _isclose(self: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    if dc.dtype(self) != dc.dtype(other):
        raise DtypeError(
            f"{dc.dtype(self).name} did not match {dc.dtype(other).name}", operator="aten::isclose", argument="other"
        )
    for name, bound in (("rtol", rtol), ("atol", atol)):
        if not bound >= 0:
            raise OperatorError(
                f"{name} must be greater than or equal to zero, but got {bound:g}",
                operator="aten::isclose",
                argument=name,
            )
    close = aten.eq.Tensor(self, other)
    if not dc.dtype(self).is_differentiable:
        if rtol == 0 and atol == 0:
            return close
        self, other = cast_to_floating(self), cast_to_floating(other)
    elif equal_nan:
        close = aten.logical_or.default(
            close, aten.logical_and.default(aten.isnan.default(self), aten.isnan.default(other))
        )
    allowed = aten.add.Scalar(aten.mul.Scalar(aten.abs.default(other), rtol), atol)
    error = aten.abs.default(aten.sub.Tensor(self, other))
    near = aten.logical_and.default(aten.isfinite.default(error), aten.le.Tensor(error, allowed))
    return aten.logical_or.default(close, near)


def _allclose(self: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return bool(aten.item.default(aten.all.default(aten.isclose.default(self, other, rtol, atol, equal_nan))))


def _equal(self: Array, other: Array) -> bool:
    if dc.shape(self) != dc.shape(other):
        return False
    return bool(aten.item.default(aten.all.default(aten.eq.Tensor(self, other))))


def isin(
    elements: Array | Number, test_elements: Array | Number, *, assume_unique: bool = False, invert: bool = False
) -> Array:
    """Compare every element with every one of the others."""
    if not is_array(test_elements):
        return aten.ne.Scalar(elements, test_elements) if invert else aten.eq.Scalar(elements, test_elements)
    others = aten.reshape.default(test_elements, (-1,))
    if is_array(elements):
        found = aten.any.dim(aten.eq.Tensor(aten.unsqueeze.default(elements, -1), others), -1)
    else:
        found = aten.any.default(aten.eq.Scalar(others, elements))
    return aten.logical_not.default(found) if invert else found
