"""Products of the reflections that ``geqrf`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import (
    column,
    conj,
    eye_like,
    mT,
    row,
)
from dispatch_aten.decompositions._shared import Array, aten, meta_of
from dispatch_aten.errors import DtypeError, ShapeError
from dispatch_aten.shapes.matrices import check_inexact

if TYPE_CHECKING:
    from dispatch_aten.shapes import TensorMeta


def _householder_product(input: Array, tau: Array) -> Array:
    """Multiply the reflections I - tau v v^H, the last first; the transposed product leaves the result column-major."""
    meta, factors = meta_of(input), meta_of(tau)
    _check_reflections(meta, factors)
    rows, columns = meta.shape[-2:]
    vectors = _reflection_vectors(input)
    # The zeros tie a product of no reflections to its input, as torch's result is.
    found = aten.add.Tensor(mT(aten.tril.default(input, -rows)), eye_like(input, columns, rows))
    for each in reversed(range(factors.shape[-1])):
        found = _reflect_rows(found, aten.select.int(vectors, -1, each), aten.select.int(tau, -1, each))
    return mT(aten.contiguous.default(found))


def _check_reflections(meta: TensorMeta, factors: TensorMeta) -> None:
    api = "torch.linalg.householder_product"
    if meta.ndim < 2:
        raise ShapeError(f"{api}: input must have at least 2 dimensions.", argument="input")
    if meta.shape[-2] < meta.shape[-1]:
        raise ShapeError(f"{api}: input.shape[-2] must be greater than or equal to input.shape[-1]", argument="input")
    if not factors.ndim or meta.shape[-1] < factors.shape[-1]:
        raise ShapeError(f"{api}: input.shape[-1] must be greater than or equal to tau.shape[-1]", argument="tau")
    if meta.ndim - factors.ndim != 1 or meta.shape[:-2] != factors.shape[:-1]:
        raise ShapeError(
            f"{api}: Expected tau to have one dimension less than input and batch dimensions of tau to be equal to "
            f"input.shape[:-2], but got {list(factors.shape)}",
            argument="tau",
        )
    check_inexact(meta, api, "input")
    if factors.dtype != meta.dtype:
        raise DtypeError(
            f"{api}: tau dtype {factors.dtype.name} does not match input dtype {meta.dtype.name}", argument="tau"
        )


def _reflection_vectors(input: Array) -> Array:
    rows, columns = dc.shape(input)[-2:]
    return aten.add.Tensor(aten.tril.default(input, -1), eye_like(input, rows, columns))


def _reflect_rows(found: Array, vector: Array, factor: Array) -> Array:
    """Return ``X - tau (X conj(v)) v^T``, which is the transposed of ``(I - tau v v^H) X^T``."""
    along = aten.matmul.default(found, column(conj(vector)))
    return aten.sub.Tensor(found, aten.mul.Tensor(aten.mul.Tensor(along, row(vector)), column(column(factor))))


def _ormqr(self: Array, input2: Array, input3: Array, left: bool = True, transpose: bool = False) -> Array:
    meta, other = meta_of(self), meta_of(input3)
    if meta.ndim < 2:
        raise ShapeError("torch.ormqr: input must have at least 2 dimensions.", argument="self")
    if other.ndim < 2:
        raise ShapeError("torch.ormqr: other must have at least 2 dimensions.", argument="input3")
    _check_ormqr(meta, meta_of(input2), other, left=left)
    vectors, count = _reflection_vectors(self), dc.shape(input2)[-1]
    # Q = H1 H2 ... Hk. From the right X Q is (Q^T X^T)^T; the reflections act on rows of the transposed matrices.
    factors = conj(input2) if transpose else input2
    order = range(count) if transpose == left else reversed(range(count))
    found = mT(input3) if left else input3
    for each in order:
        vector, factor = aten.select.int(vectors, -1, each), aten.select.int(factors, -1, each)
        if left:
            found = _reflect_rows(found, vector, factor)
        else:
            along = aten.matmul.default(found, column(vector))
            step = aten.mul.Tensor(aten.mul.Tensor(along, row(conj(vector))), column(column(factor)))
            found = aten.sub.Tensor(found, step)
    if not count:
        # A zero ties the result to the reflections, as torch's is.
        found = aten.add.Tensor(found, aten.sum.default(aten.tril.default(self, -dc.shape(self)[-2])))
    if left:
        return mT(aten.contiguous.default(found))
    return mT(aten.contiguous.default(mT(found)))


def _check_ormqr(meta: TensorMeta, factors: TensorMeta, other: TensorMeta, *, left: bool) -> None:
    side = -2 if left else -1
    if other.shape[side] != meta.shape[-2]:
        raise ShapeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]", argument="input3")
    if factors.ndim < 1 or factors.shape[-1] > meta.shape[-1] or factors.shape[-1] > meta.shape[-2]:
        raise ShapeError(
            f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]", argument="input2"
        )
    if meta.ndim - factors.ndim != 1 or meta.shape[:-2] != factors.shape[:-1]:
        raise ShapeError(
            f"torch.ormqr: batch dimensions of tau should be equal to input.shape[:-2], but got {list(factors.shape)}",
            argument="input2",
        )
    if meta.ndim != other.ndim or meta.shape[:-2] != other.shape[:-2]:
        raise ShapeError(
            f"torch.ormqr: batch dimensions of other should be equal to input.shape[:-2], but got {list(other.shape)}",
            argument="input3",
        )
    for name, each in (("tau", factors), ("other", other)):
        if each.dtype != meta.dtype:
            raise DtypeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype {meta.dtype.name} and "
                f"{name} has dtype {each.dtype.name}"
            )
