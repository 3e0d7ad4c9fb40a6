"""Gradients of products of matrices, which lie in memory as the matrices do: that of a weight needs no copy then."""

from __future__ import annotations

from dispatch_aten.decompositions._shared import Array, aten

__all__ = ["first_factor_gradient", "second_factor_gradient"]


def first_factor_gradient(grad: Array, other: Array, is_turned: bool) -> Array:
    """Return the gradient of the first factor, column by column where that lies so; ``other`` is the second."""
    if is_turned:
        return aten.t.default(aten.mm.default(other, aten.t.default(grad)))
    return aten.mm.default(grad, aten.t.default(other))


def second_factor_gradient(grad: Array, other: Array, is_turned: bool) -> Array:
    """Return the gradient of the second factor, column by column where that lies so; ``other`` is the first."""
    if is_turned:
        return aten.t.default(aten.mm.default(aten.t.default(grad), other))
    return aten.mm.default(aten.t.default(other), grad)
