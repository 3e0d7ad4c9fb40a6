"""Normalisation by the root of the mean square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim, widen
from dispatch_aten.dtypes import ScalarType, bool_, float32, float64
from dispatch_aten.errors import UnsupportedError
from dispatch_aten.families.normalization.shapes import check_normalized_shape

if TYPE_CHECKING:
    from collections.abc import Sequence


_EPSILONS: Final[dict[ScalarType, float]] = {float32: 2.0**-23, float64: 2.0**-52}


def _rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    check_normalized_shape(
        meta_of(input), normalized_shape, {"weight": None if weight is None else meta_of(weight)}, ""
    )
    dtype = dc.dtype(input)
    if dtype == bool_ or dtype.is_integral:
        raise UnsupportedError(f"\"rms_norm\" not implemented for '{dtype.name}'", operator="aten::rms_norm")
    wide = widen(input)
    dims = list(range(ndim(input) - len(normalized_shape), ndim(input)))
    if eps is None:
        eps = _EPSILONS[dc.dtype(wide).to_real()]
    rstd = aten.rsqrt.default(aten.add.Scalar(aten.mean.dim(aten.pow.Tensor_Scalar(wide, 2), dims, True), eps))
    out = aten.mul.Tensor(wide, rstd)
    if weight is not None:
        out = aten.mul.Tensor(out, weight)
    return aten.contiguous.default(cast(out, dtype))
