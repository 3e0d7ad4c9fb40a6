"""Products of matrices and vectors in terms of ``mm`` and ``bmm``, and these in terms of sums of products."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.errors import AtenError, ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.layout import broadcast_shapes

from ._shared import Array, aten, maybe_multiply, meta_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch_aten.shapes import TensorMeta


def _matmul(self: Array, other: Array) -> Array:
    left, right = dc.shape(self), dc.shape(other)
    if not left or not right:
        raise ShapeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(left)}D and {len(right)}D",
            operator="aten::matmul",
            argument="other" if left else "self",
        )
    match len(left), len(right):
        case 1, 1:
            return aten.dot.default(self, other)
        case 2, 1:
            return aten.mv.default(self, other)
        case 1, 2:
            return aten.squeeze.dim(aten.mm.default(aten.unsqueeze.default(self, 0), other), 0)
        case 2, 2:
            return aten.mm.default(self, other)
    if len(right) <= 2:
        # A stack of matrices times one matrix is one product of a taller matrix.
        flat = aten.reshape.default(self, (prod(left[:-1]), left[-1]))
        product = aten.mm.default(flat, other) if len(right) == 2 else aten.mv.default(flat, other)
        return aten.reshape.default(product, (*left[:-1], *right[1:]))
    return _matmul_batches(self, other, left, right)


def _matmul_batches(self: Array, other: Array, left: tuple[int, ...], right: tuple[int, ...]) -> Array:
    rows = left[-2] if len(left) > 1 else 1
    inner = left[-1]
    try:
        batch = broadcast_shapes(left[:-2], right[:-2], argument="other")
    except AtenError as error:
        raise error.at("aten::matmul") from None
    first = aten.expand.default(self, (*batch, rows, inner))
    second = aten.expand.default(other, (*batch, *right[-2:]))
    count = prod(batch)
    product = aten.bmm.default(
        aten.reshape.default(first, (count, rows, inner)), aten.reshape.default(second, (count, *right[-2:]))
    )
    shape = (*batch, rows, right[-1]) if len(left) > 1 else (*batch, right[-1])
    return aten.reshape.default(product, shape)


def _linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    shape = dc.shape(input)
    if bias is None or len(dc.shape(weight)) != 2:
        product = aten.matmul.default(input, aten.t.default(weight))
        return product if bias is None else aten.add.Tensor(product, bias)
    if len(shape) == 2:
        return aten.addmm.default(bias, input, aten.t.default(weight))
    if not shape:
        raise ShapeError(
            "both arguments to linear need to be at least 1D, but they are 0D",
            operator="aten::linear",
            argument="input",
        )
    flat = aten.reshape.default(input, (prod(shape[:-1]), shape[-1]))
    product = aten.addmm.default(bias, flat, aten.t.default(weight))
    return aten.reshape.default(product, (*shape[:-1], dc.shape(weight)[0]))


def _outer(self: Array, vec2: Array) -> Array:
    for name, vector in (("self", self), ("vec2", vec2)):
        if len(dc.shape(vector)) != 1:
            raise ShapeError(
                f"outer: Expected 1-D argument {name}, but got {len(dc.shape(vector))}-D",
                operator="aten::outer",
                argument=name,
            )
    return aten.mul.Tensor(aten.unsqueeze.default(self, 1), vec2)


def _add_to(product_of: str) -> Callable[..., Array]:
    """Make ``addmm`` or ``baddbmm``, the sum of an array and a product."""

    def kernel(self: Array, first: Array, second: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
        product = maybe_multiply(getattr(aten, product_of).default(first, second), alpha)
        return product if beta == 0 else aten.add.Tensor(product, maybe_multiply(self, beta))

    return kernel


def _mm(self: Array, mat2: Array) -> Array:
    meta = RULES["mm"](meta_of(self), meta_of(mat2))
    return _sum_products(aten.mul.Tensor(aten.unsqueeze.default(self, 2), aten.unsqueeze.default(mat2, 0)), 1, meta)


def _bmm(self: Array, mat2: Array) -> Array:
    meta = RULES["bmm"](meta_of(self), meta_of(mat2))
    return _sum_products(aten.mul.Tensor(aten.unsqueeze.default(self, 3), aten.unsqueeze.default(mat2, 1)), 2, meta)


def _sum_products(products: Array, dim: int, meta: TensorMeta) -> Array:
    return aten.contiguous.default(aten.sum.dim_IntList(products, [dim], False, dtype=meta.dtype))


def _mv(self: Array, vec: Array) -> Array:
    return aten.squeeze.dim(aten.mm.default(self, aten.unsqueeze.default(vec, 1)), 1)


def _dot(self: Array, tensor: Array) -> Array:
    product = aten.mm.default(aten.unsqueeze.default(self, 0), aten.unsqueeze.default(tensor, 1))
    return aten.reshape.default(product, ())


IMPLICIT: Final[dict[str, Callable[..., Any]]] = {"matmul": _matmul, "linear": _linear, "outer": _outer}

EXPLICIT: Final[dict[str, Callable[..., Any]]] = {
    "mm": _mm,
    "bmm": _bmm,
    "addmm": _add_to("mm"),
    "baddbmm": _add_to("bmm"),
    "mv": _mv,
    "dot": _dot,
}
