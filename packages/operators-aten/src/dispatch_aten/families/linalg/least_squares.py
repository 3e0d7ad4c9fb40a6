"""Least squares and pseudoinverses by singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import (
    column,
    in_layout,
    mH,
    row,
    zeros_like_shape,
)
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable


def _lstsq(self: Array, b: Array, rcond: float | None = None, *, driver: str | None = None) -> tuple[Array, ...]:
    """Solve by singular values, whichever of LAPACK's functions is asked for: they differ in speed only."""
    metas = RULES["linalg_lstsq"](meta_of(self), meta_of(b), rcond, driver=driver)
    shape = dc.shape(self)
    vector = ndim(b) == ndim(self) - 1 and dc.shape(b) == shape[:-1]
    sides = column(b) if vector else b
    U, S, Vh = aten._linalg_svd.default(self, False, True)
    if rcond is None:
        rcond = EPSILON[dc.dtype(self).to_real().short] * max(shape[-2:])
    kept = aten.gt.Tensor(S, aten.mul.Scalar(aten.slice.Tensor(S, -1, 0, 1), rcond))
    inverse = aten.where.self(kept, aten.reciprocal.default(S), aten.zeros_like.default(S))
    scaled = aten.mul.Tensor(aten.matmul.default(mH(U), sides), column(inverse))
    solution = aten.matmul.default(mH(Vh), scaled)
    residuals = zeros_like_shape(S, metas[1].shape)
    if metas[1].shape != (0,):
        left = aten.sub.Tensor(aten.matmul.default(self, solution), sides)
        residuals = aten.sum.dim_IntList(aten.square.default(aten.abs.default(left)), [-2])
        full = aten.all.dim(kept, -1, True)
        if (
            driver != "gels"
            and dc.device(self).type != "meta"
            and not aten._local_scalar_dense.default(aten.all.default(full))
        ):
            residuals = zeros_like_shape(S, (0,))
    rank = aten.sum.dim_IntList(kept, [-1]) if driver != "gels" else zeros_like_shape(S, (0,), metas[2].dtype)
    values = S if metas[3].shape != (0,) else zeros_like_shape(S, (0,))
    solution = aten.squeeze.dim(solution, -1) if vector else solution
    return in_layout(solution, metas[0]), residuals, rank, values


EPSILON: Final = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The distance from 1 to the next number, by a dtype's name."""


def _pinv(self: Array, *, atol: Array | None = None, rtol: Array | None = None, hermitian: bool = False) -> Array:
    meta = RULES["linalg_pinv.atol_rtol_tensor"](
        meta_of(self),
        atol=None if atol is None else meta_of(atol),
        rtol=None if rtol is None else meta_of(rtol),
        hermitian=hermitian,
    )
    if not meta.numel:
        return zeros_like_shape(self, meta.shape)
    if hermitian:
        values, right = aten._linalg_eigh.default(self)
        left, sizes = mH(right), aten.abs.default(values)
        largest = aten.amax.default(sizes, [-1], True)
    else:
        U, values, Vh = aten._linalg_svd.default(self, False, True)
        left, right, sizes = mH(U), mH(Vh), values
        largest = aten.slice.Tensor(values, -1, 0, 1)
    kept = aten.gt.Tensor(sizes, tolerance(largest, dc.shape(self), atol, rtol))
    inverse = aten.where.self(kept, aten.reciprocal.default(values), aten.zeros_like.default(values))
    return aten.matmul.default(aten.mul.Tensor(right, row(inverse)), left)


def tolerance(largest: Array, shape: tuple[int, ...], atol: Any, rtol: Any) -> Array:
    """Return the size below which singular values count as 0: ``max(atol, rtol * largest)``, a number or an array each."""
    dtype = dc.dtype(largest)
    if rtol is None:
        fallback = EPSILON[dtype.short] * max(shape[-2:])
        if atol is None:
            return aten.mul.Scalar(largest, fallback)
        if isinstance(atol, float):
            rtol = 0.0 if atol > 0 else fallback
        else:
            rtol = aten.where.Scalar(aten.gt.Scalar(atol, 0), 0.0, fallback)
    relative = (
        aten.mul.Scalar(largest, rtol)
        if isinstance(rtol, float)
        else aten.mul.Tensor(largest, column(cast(rtol, dtype)))
    )
    if atol is None:
        return relative
    if isinstance(atol, float):
        return aten.clamp_min.default(relative, atol)
    return aten.maximum.default(relative, column(cast(atol, dtype)))


def _number_as_tensor(name: str) -> Callable[..., Array]:
    def kernel(self: Array, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Array:
        made = {
            key: aten.new_full.default(
                self, (), value, dtype=dc.dtype(self).to_real() if dc.dtype(self).is_differentiable else None
            )
            for key, value in (("atol", atol), ("rtol", rtol))
            if value is not None
        }
        return getattr(aten, name).atol_rtol_tensor(self, **made, hermitian=hermitian)

    return kernel
