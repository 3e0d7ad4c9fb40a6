"""Products of matrices and vectors in terms of ``mm`` and ``bmm``, and these in terms of sums of products."""

from __future__ import annotations

from functools import reduce
from math import isfinite, prod
from typing import TYPE_CHECKING, Final

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import conj
from dispatch_aten.decompositions._shared import (
    Array,
    as_scalar_tensor,
    aten,
    cast,
    maybe_multiply,
    meta_of,
    truncate_for,
)
from dispatch_aten.dtypes import bfloat16, bool_, float16, float32
from dispatch_aten.errors import AtenError, DtypeError, OperatorError, ShapeError
from dispatch_aten.promotion import Number, promote_types
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dims
from dispatch_aten.shapes.layout import broadcast_shapes
from dispatch_core.frontends import may_need_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch_aten.dtypes import ScalarType
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
        return aten._unsafe_view.default(product, (*left[:-1], *right[1:]))
    return _matmul_batches(self, other, left, right)


def _matmul_batches(self: Array, other: Array, left: tuple[int, ...], right: tuple[int, ...]) -> Array:
    rows = left[-2] if len(left) > 1 else 1
    inner = left[-1]
    try:
        batch = broadcast_shapes(left[:-2], right[:-2], argument="other")
    except AtenError as error:
        raise error.at("aten::matmul") from None
    if len(batch) == 1 and len(left) == len(right) and left[0] == right[0]:
        return aten.bmm.default(self, other)
    first, second = (*batch, rows, inner), (*batch, *right[-2:])
    self = self if left == first else aten.expand.default(self, first)
    other = other if right == second else aten.expand.default(other, second)
    count = prod(batch)
    product = aten.bmm.default(
        aten.reshape.default(self, (count, rows, inner)), aten.reshape.default(other, (count, *right[-2:]))
    )
    shape = (*batch, rows, right[-1]) if len(left) > 1 else (*batch, right[-1])
    return aten._unsafe_view.default(product, shape)


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
    return aten._unsafe_view.default(product, (*shape[:-1], dc.shape(weight)[0]))


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
        product = getattr(aten, product_of).default(first, second)
        alpha, beta = (truncate_for(dc.dtype(product), factor) for factor in (alpha, beta))
        product = maybe_multiply(product, alpha)
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


def _as_factor(self: Array, factor: Number) -> Number:
    """Return a factor as the elements of ``self`` are: an integer beside integers."""
    if not dc.dtype(self).is_integral or not isinstance(factor, float):
        return factor
    if not isfinite(factor):
        raise OperatorError("value cannot be converted to type int64_t without overflow", argument="alpha")
    return int(factor)


def _add_scaled(self: Array, product: Array, beta: Number, alpha: Number) -> Array:
    """Return ``beta * self + alpha * product``; a ``beta`` of 0 leaves nans of ``self`` out, as in BLAS."""
    product = maybe_multiply(product, alpha)
    if beta == 0:
        return _in_place_of(self, product) if may_need_gradient(self) else product
    return aten.add.Tensor(maybe_multiply(self, beta), product)


def _in_place_of(self: Array, values: Array) -> Array:
    """Return ``values``, through which a gradient of zeros flows to ``self``."""
    return aten.where.self(aten.ones_like.default(self, dtype=bool_), values, self)


def _addmv(self: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    beta, alpha = _as_factor(self, beta), _as_factor(self, alpha)
    product = aten.mv.default(mat, vec)
    if dc.dtype(self) != dc.dtype(mat):
        raise DtypeError(
            "addmv input tensors must have the same dtype, but got "
            f"{dc.dtype(self).name}, {dc.dtype(mat).name}, and {dc.dtype(vec).name}"
        )
    return _add_scaled(aten.expand.default(self, dc.shape(product)), product, beta, alpha)


def _addbmm(self: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    beta, alpha = _as_factor(self, beta), _as_factor(self, alpha)
    for name, batch in (("batch1", batch1), ("batch2", batch2)):
        if len(dc.shape(batch)) != 3:
            raise ShapeError(f"{name} must be a 3D tensor", operator="aten::addbmm", argument=name)
    if dc.shape(batch1)[0] != dc.shape(batch2)[0]:
        raise ShapeError(
            f"batch1 and batch2 must have same number of batches, got {dc.shape(batch1)[0]} and {dc.shape(batch2)[0]}"
        )
    if dc.shape(batch1)[2] != dc.shape(batch2)[1]:
        raise ShapeError(
            f"Incompatible matrix sizes for bmm ({dc.shape(batch1)[1]}x{dc.shape(batch1)[2]} and "
            f"{dc.shape(batch2)[1]}x{dc.shape(batch2)[2]})"
        )
    if dc.dtype(self) in _HALVES and dc.dtype(self) == dc.dtype(batch1):
        # Numbers of 16 bits are rounded after each product, as torch adds them one by one.
        for place in range(dc.shape(batch1)[0]):
            factors = (aten.select.int(each, 0, place) for each in (batch1, batch2))
            self, beta = aten.addmm.default(self, *factors, beta=beta, alpha=alpha), 1
        if dc.shape(batch1)[0]:
            return aten.contiguous.default(self)
    product = aten.sum.dim_IntList(aten.bmm.default(batch1, batch2), [0], dtype=dc.dtype(batch1))
    if dc.dtype(self) != dc.dtype(product):
        raise DtypeError(
            f"expected the same dtype, but got {dc.dtype(self).name} and {dc.dtype(product).name}", argument="self"
        )
    found = _add_scaled(aten.expand.default(self, dc.shape(product)), product, beta, alpha)
    return aten.contiguous.default(found)


_HALVES: Final = (float16, bfloat16)


def _addr(self: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if len(dc.shape(vector)) != 1:
            raise ShapeError(
                f"addr: Expected 1-D argument {name}, but got {len(dc.shape(vector))}-D",
                operator="aten::addr",
                argument=name,
            )
    common = result_of_dtypes(self, vec1, vec2)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if common.is_integral and isinstance(factor, (float, complex)):
            raise OperatorError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if common in _HALVES:
        return _addr_of_halves(self, vec1, vec2, beta, alpha)
    product = aten.mul.Tensor(aten.unsqueeze.default(vec1, 1), vec2)
    self = aten.expand.default(self, dc.shape(product))
    if common == bool_:
        product = product if alpha else aten.zeros_like.default(product)
        return aten.logical_or.default(self, product) if beta else product
    if beta == 0:
        # The result lies as the sum would.
        zeros = aten.zeros_like.default(self)
        self, beta = _in_place_of(self, zeros) if may_need_gradient(self) else zeros, 1
    return cast(_add_scaled(self, product, beta, alpha), common)


def _addr_of_halves(self: Array, vec1: Array, vec2: Array, beta: Number, alpha: Number) -> Array:
    """Do as ``addr`` with every factor and product rounded to 16 bits, as torch does."""

    def scale(array: Array, factor: Number) -> Array:
        return aten.mul.Tensor(array, as_scalar_tensor(factor, array, dc.dtype(array)))

    product = aten.mul.Tensor(aten.unsqueeze.default(scale(vec1, alpha), 1), vec2)
    if beta == 0:
        return _in_place_of(self, product) if may_need_gradient(self) else product
    return aten.add.Tensor(scale(self, beta), product)


def result_of_dtypes(*tensors: Array) -> ScalarType:
    """Return the dtype that tensors of several dimensions promote to."""
    return reduce(promote_types, map(dc.dtype, tensors))


def _in_float(kernel: Callable[..., Array]) -> Callable[..., Array]:
    """Compute numbers of 16 bits in ``float32``, and round once."""

    def compute(self: Array, *args: Array, **kwargs: Number) -> Array:
        dtype = dc.dtype(self)
        if dtype not in _HALVES or any(dc.dtype(each) != dtype for each in args):
            return kernel(self, *args, **kwargs)
        return cast(kernel(*(cast(each, float32) for each in (self, *args)), **kwargs), dtype)

    return compute


def _vdot(self: Array, other: Array) -> Array:
    if dc.dtype(self).is_complex:
        RULES["dot"](meta_of(self), meta_of(other))
    return aten.dot.default(conj(self), other)


def _inner(self: Array, other: Array) -> Array:
    left, right = dc.shape(self), dc.shape(other)
    if not left or not right:
        return aten.mul.Tensor(self, other)
    if left[-1] != right[-1]:
        raise ShapeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(left)} and {list(right)}",
            operator="aten::inner",
            argument="other",
        )
    return aten.tensordot.default(self, other, [-1], [-1])


def _tensordot(self: Array, other: Array, dims_self: Sequence[int], dims_other: Sequence[int]) -> Array:
    if len(dims_self) != len(dims_other):
        raise ShapeError(
            "both dimension lists should have same length", operator="aten::tensordot", argument="dims_other"
        )
    if dc.dtype(self) != dc.dtype(other):
        raise DtypeError("both inputs should have same dtype", operator="aten::tensordot", argument="other")
    first = wrap_dims(dims_self, len(dc.shape(self)), all_if_empty=False)
    second = wrap_dims(dims_other, len(dc.shape(other)), all_if_empty=False)
    for place, (dim, at) in enumerate(zip(first, second, strict=True)):
        size, along = dc.shape(self)[dim], dc.shape(other)[at]
        # A dimension of size 1 is repeated, so that the other one is summed.
        if along == 1 and size != 1:
            self = aten.sum.dim_IntList(self, [dim], True, dtype=dc.dtype(self))
        elif size == 1 and along != 1:
            other = aten.sum.dim_IntList(other, [at], True, dtype=dc.dtype(other))
        elif size != along:
            raise ShapeError(
                f"contracted dimensions need to match, but first has size {size} in dim {dims_self[place]} and second has "
                f"size {along} in dim {dims_other[place]}",
                operator="aten::tensordot",
                argument="other",
            )
    left = [dim for dim in range(len(dc.shape(self))) if dim not in first]
    right = [dim for dim in range(len(dc.shape(other))) if dim not in second]
    rows, columns = [dc.shape(self)[dim] for dim in left], [dc.shape(other)[dim] for dim in right]
    count = prod(dc.shape(self)[dim] for dim in first)
    product = aten.mm.default(
        aten.reshape.default(aten.permute.default(self, [*left, *first]), (prod(rows), count)),
        aten.reshape.default(aten.permute.default(other, [*second, *right]), (count, prod(columns))),
    )
    return aten._unsafe_view.default(product, (*rows, *columns))
