"""Functions of the formulas of Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fft_c2r_backward", "fft_r2c_backward"]


def fft_r2c_backward(
    grad: Array, dim: Sequence[int], normalization: int, onesided: bool, sizes: Sequence[int]
) -> Array:
    """Return the gradient of a real transform's argument: of the transform of complex numbers, its other half being 0."""
    last, shape = dim[-1], list(dc.shape(grad))
    if onesided:
        shape[last] = sizes[last] - shape[last]
        grad = aten.cat.default([grad, aten.new_zeros.default(grad, shape)], last)
    return cast(aten._fft_c2c.default(grad, dim, normalization, False), dc.dtype(grad).to_real())


def fft_c2r_backward(grad: Array, dim: Sequence[int], normalization: int) -> Array:
    """Return the gradient of an inverse transform to real numbers, in which most elements count twice."""
    last = dim[-1]
    found = aten._fft_r2c.default(grad, dim, normalization, True)
    have = dc.shape(found)[last]
    twice = dc.shape(grad)[last] - have
    if twice <= 0:
        return found
    ends = 1 + twice
    parts = [aten.slice.Tensor(found, last, 0, 1), aten.mul.Scalar(aten.slice.Tensor(found, last, 1, ends), 2)]
    return aten.cat.default([*parts, aten.slice.Tensor(found, last, ends, have)], last)
