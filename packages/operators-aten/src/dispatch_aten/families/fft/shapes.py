"""Shape rules of Fourier transforms. Batch dimensions lie outside the transformed ones, both in the order of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.dtypes import float32, float64
from dispatch_aten.errors import DtypeError
from dispatch_aten.shapes.dims import wrap_dims
from dispatch_aten.shapes.meta import TensorMeta, dense_strides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch_aten.dtypes import ScalarType


def _describe_transform(
    self: TensorMeta, shape: Sequence[int], dims: Sequence[int], dtype: ScalarType, *, sort_last: bool = True
) -> TensorMeta:
    """Describe a result as the library behind torch lays it out: dense, and the last transformed dimension innermost."""

    def outermost(among: Sequence[int]) -> list[int]:
        return sorted(among, key=lambda dim: -self.strides[dim])

    inner = outermost(dims) if sort_last else [*outermost(dims[:-1]), dims[-1]]
    order = [*outermost([dim for dim in range(self.ndim) if dim not in dims]), *inner]
    return TensorMeta(tuple(shape), dense_strides(tuple(shape), reversed(order)), dtype)


def _c2c(self: TensorMeta, dim: Sequence[int], normalization: int, forward: bool) -> TensorMeta:
    if not self.dtype.is_complex:
        raise DtypeError(f"_fft_c2c expects a complex input tensor, but got {self.dtype.name}", argument="self")
    if not dim:
        return TensorMeta(self.shape, self.strides, self.dtype)
    return _describe_transform(self, self.shape, wrap_dims(dim, self.ndim), self.dtype)


def _r2c(self: TensorMeta, dim: Sequence[int], normalization: int, onesided: bool) -> TensorMeta:
    if self.dtype not in (float32, float64):
        raise DtypeError(f"Unsupported dtype {self.dtype.name}", argument="self")
    dims, shape = wrap_dims(dim, self.ndim), list(self.shape)
    if onesided:
        shape[dims[-1]] = shape[dims[-1]] // 2 + 1
    return _describe_transform(self, shape, dims, self.dtype.to_complex(), sort_last=False)


def _c2r(self: TensorMeta, dim: Sequence[int], normalization: int, last_dim_size: int) -> TensorMeta:
    if not self.dtype.is_complex:
        raise DtypeError(f"_fft_c2r expects a complex input tensor, but got {self.dtype.name}", argument="self")
    dims, shape = wrap_dims(dim, self.ndim), list(self.shape)
    if len(dims) > 1:
        self = _c2c(self, dims[:-1], normalization, forward=False)
    shape[dims[-1]] = last_dim_size
    return _describe_transform(self, shape, dims[-1:], self.dtype.to_real())
