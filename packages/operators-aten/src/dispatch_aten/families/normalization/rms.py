"""Normalisation by the root of the mean square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, has_kernel, meta_of, ndim, widen
from dispatch_aten.dtypes import ScalarType, bool_, float32, float64
from dispatch_aten.errors import UnsupportedError
from dispatch_aten.families.normalization.shapes import check_normalized_shape

if TYPE_CHECKING:
    from collections.abc import Sequence


_EPSILONS: Final[dict[ScalarType, float]] = {float32: 2.0**-23, float64: 2.0**-52}


def _rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    if has_kernel("aten::_fused_rms_norm", input):
        return aten._fused_rms_norm.default(input, normalized_shape, weight, eps)[0]
    return _fused_rms_norm(input, normalized_shape, weight, eps)[0]


def _fused_rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None, eps: float | None
) -> tuple[Array, Array]:
    check_normalized_shape(
        meta_of(input), normalized_shape, {"weight": None if weight is None else meta_of(weight)}, ""
    )
    dtype = dc.dtype(input)
    if dtype == bool_ or dtype.is_integral:
        raise UnsupportedError(f"\"rms_norm\" not implemented for '{dtype.name}'", operator="aten::rms_norm")
    wide = widen(input)
    dims = _last_dims(input, normalized_shape)
    if eps is None:
        eps = _EPSILONS[dc.dtype(wide).to_real()]
    rstd = aten.rsqrt.default(aten.add.Scalar(_mean_square(wide, dims), eps))
    out = aten.mul.Tensor(wide, rstd)
    if weight is not None:
        out = aten.mul.Tensor(out, weight)
    return aten.contiguous.default(cast(out, dtype)), rstd


def _last_dims(input: Array, normalized_shape: Sequence[int]) -> list[int]:
    return list(range(ndim(input) - len(normalized_shape), ndim(input)))


def _mean_square(wide: Array, dims: list[int]) -> Array:
    return aten.mean.dim(aten.pow.Tensor_Scalar(wide, 2), dims, True)


def _fused_rms_norm_backward(
    grad_out: Array,
    input: Array,
    normalized_shape: Sequence[int],
    rstd: Array,
    weight: Array | None,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None]:
    check_normalized_shape(
        meta_of(input), normalized_shape, {"weight": None if weight is None else meta_of(weight)}, ""
    )
    wide, grad = widen(input), widen(grad_out)
    dims = _last_dims(input, normalized_shape)
    unit = aten.mul.Tensor(wide, rstd)
    by_input = by_weight = None
    if output_mask[0]:
        scaled = grad if weight is None else aten.mul.Tensor(grad, weight)
        product = aten.mean.dim(aten.mul.Tensor(scaled, unit), dims, True)
        found = aten.mul.Tensor(aten.sub.Tensor(scaled, aten.mul.Tensor(unit, product)), rstd)
        by_input = aten.contiguous.default(cast(found, dc.dtype(input)))
    if output_mask[1] and weight is not None:
        product = aten.mul.Tensor(grad, unit)
        leading = list(range(dims[0]))
        by_weight = cast(aten.sum.dim_IntList(product, leading) if leading else product, dc.dtype(weight))
    return by_input, by_weight
