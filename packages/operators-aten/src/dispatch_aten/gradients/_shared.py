"""Helpers of several formulas: conjugates, devices, and reduced dimensions put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, count_of, maybe_multiply
from dispatch_aten.shapes.dims import wrap_dims

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "conjugate",
    "count_of",
    "divide_or_zero",
    "getitem",
    "inverse_permutation",
    "max_one",
    "maybe_multiply",
    "negate",
    "one_minus",
    "spread",
    "to_device",
    "with_reduced_dims",
]


def conjugate(self: Array) -> Array:
    """Return the complex conjugates; real numbers are their own."""
    return aten._conj_physical.default(self) if dc.dtype(self).is_complex else self


def divide_or_zero(self: Array, other: Array) -> Array:
    """Return the quotients, and zero where the divisor is zero; so are the derivatives there, since nothing is divided."""
    zero = aten.eq.Scalar(other, 0)
    return aten.masked_fill.Scalar(aten.div.Tensor(self, aten.masked_fill.Scalar(other, zero, 1)), zero, 0)


def sgn(self: Array) -> Array:
    """Return the sign, of a complex number the one of absolute value 1 in its direction."""
    return aten.sgn.default(self)


def getitem(results: Sequence[Array], place: int) -> Array:
    """Return one of several results."""
    return results[place]


def one_minus(self: Array) -> Array:
    """Return ``1 - self``."""
    return aten.rsub.Scalar(self, 1)


def max_one(count: int) -> int:
    """Return ``count``, but 1 for 0: the mean of nothing has a gradient of no elements."""
    return max(count, 1)


def inverse_permutation(dims: Sequence[int]) -> list[int]:
    """Return the permutation that undoes ``dims``."""
    inverse = [0] * len(dims)
    for place, dim in enumerate(dims):
        inverse[dim] = place
    return inverse


def negate(values: int | Sequence[int]) -> list[int]:
    """Return the numbers with their signs turned."""
    return [-values] if isinstance(values, int) else [-value for value in values]


def to_device(grad: Array, device: dc.Device) -> Array:
    """Return the gradient on ``device``."""
    if (here := dc.device(grad)) == device:
        return grad
    if here.type == device.type and device.index is None:
        device = dc.Device(
            device.type, 0
        )  # what has no index lies on the first device, and `_to_copy` would not move it
    return aten._to_copy.default(grad, device=device)


def with_reduced_dims(self: Array, count: int, dim: int | Sequence[int] | None, keepdim: bool) -> Array:
    """Return a reduction's result with its reduced dimensions put back as dimensions of size 1."""
    if keepdim or not count:
        return self
    if dim is None or (not isinstance(dim, int) and not dim):
        return aten.reshape.default(self, (1,) * count)
    for each in sorted(wrap_dims(dim, count)):
        self = aten.unsqueeze.default(self, each)
    return self


def spread(grad: Array, sizes: Sequence[int], dim: int | Sequence[int] | None, keepdim: bool) -> Array:
    """Return the gradient of a sum: the same for every element that was added."""
    return aten.expand.default(with_reduced_dims(grad, len(sizes), dim, keepdim), sizes)
