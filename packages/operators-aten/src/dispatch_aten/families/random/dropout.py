"""Dropout of whole channels, and dropout that keeps mean and variance of ``selu``'s results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, ndim, numel
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_aten.families.random.composites import draw_mask

if TYPE_CHECKING:
    from collections.abc import Callable

#: The negative of the least value of ``selu``.
_ALPHA: Final = 1.7580993408473766


def _scale_elements(input: Array, p: float) -> tuple[float, float, float]:
    return 1.0 / (1.0 - p), 0.0, 0.0


def _keep_moments(input: Array, p: float) -> tuple[float, float, float]:
    """Return the factor of kept elements, and the summands of kept and of dropped ones."""
    factor = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    return factor, _ALPHA * factor * p, _ALPHA * factor * (p - 1)


def _make(name: str, by_channel: bool, numbers: Callable[[Array, float], tuple[float, float, float]]) -> Any:
    operator = f"aten::{name}"

    def kernel(input: Array, p: float, train: bool) -> Array:
        if not 0 <= p <= 1:
            raise OperatorError(
                f"dropout probability has to be between 0 and 1, but got {p:g}", operator=operator, argument="p"
            )
        if p == 0 or not train or not numel(input):
            return input
        if p == 1:
            return aten.mul.Tensor(input, aten.new_zeros.default(input, ()))
        dtype = dc.dtype(input)
        if by_channel and ndim(input) < 2:
            raise OperatorError(
                "Feature dropout requires at least 2 dimensions in the input", operator=operator, argument="input"
            )
        if not dtype.is_floating_point and not dtype.is_complex:
            raise DtypeError(
                f"result type Float can't be cast to the desired output type {dtype.name}", operator=operator
            )
        shape = dc.shape(input)
        of = aten.new_empty.default(input, (*shape[:2], *[1] * (len(shape) - 2))) if by_channel else input
        mask = draw_mask(of, 1 - p)
        kept = cast(mask, dtype)
        factor, above, below = numbers(input, p)
        found = aten.mul.Tensor(input, aten.mul.Scalar(kept, factor))
        if above == below:
            return found
        summand = aten.where.Scalar(mask, above, below)
        return aten.add.Tensor(found, aten._to_copy.default(summand, dtype=dtype))

    return kernel


def _make_inplace(kernel: Callable[..., Array]) -> Callable[..., Array]:
    def inplace(self: Array, p: float, train: bool) -> Array:
        found = kernel(self, p, train)
        return self if found is self else aten.copy_.default(self, found)

    return inplace
