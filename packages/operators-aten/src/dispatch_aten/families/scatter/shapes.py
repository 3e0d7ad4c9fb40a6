"""Shape rules of scattered writes and reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dispatch_aten.dtypes import int32, int64
from dispatch_aten.errors import DimensionError, DtypeError, OperatorError, ShapeError
from dispatch_aten.families.indexing.shapes import check_scatter
from dispatch_aten.promotion import Number
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.own_rules import OWN_RULES
from dispatch_aten.shapes.refusals import check_fits, refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

_REDUCTIONS: Final = ("sum", "prod", "mean", "amax", "amin")

#: The kinds of dtypes (see ``kind_of``) that a scattered reduction cannot take.
_NOT_REDUCED: Final = {"sum": "", "prod": "", "mean": "b", "amax": "c", "amin": "c"}


def _scatter_reduce(
    self: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta, reduce: str, *, include_self: bool = True
) -> TensorMeta:
    if reduce not in _REDUCTIONS:
        raise OperatorError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}", argument="reduce"
        )
    check_scatter(self, dim, index, src)
    if index.numel:
        refuse_kinds(f"scatter_gather_tensor_cpu_reduce_{reduce}", _NOT_REDUCED[reduce], self.dtype)
    return contiguous(self.shape, self.dtype)


def _check_vector(name: str, index: TensorMeta) -> None:
    if index.ndim > 1:
        raise DimensionError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {index.dtype.name} "
            f"and size: {list(index.shape)}",
            argument="index",
        )


def _index_reduce(
    self: TensorMeta, dim: int, index: TensorMeta, source: TensorMeta, reduce: str, *, include_self: bool = True
) -> TensorMeta:
    dim = wrap_dim(dim, self.ndim)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise OperatorError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.",
            argument="reduce",
        )
    _check_vector("index_reduce", index)
    if index.dtype not in (int32, int64):
        raise DtypeError("index_reduce(): Expected dtype int32/int64 for index", argument="index")
    if self.dtype != source.dtype:
        raise DtypeError("index_reduce(): self and source expected to have the same scalar type", argument="source")
    count = source.shape[dim] if source.shape else 1
    if index.numel != count:
        raise OperatorError("index_reduce(): Number of indices should be equal to self.size(dim)", argument="index")
    if self.shape[:dim] + self.shape[dim + 1 :] != source.shape[:dim] + source.shape[dim + 1 :]:
        raise ShapeError(
            "index_reduce(): source and self differ beside the dimension of the indices", argument="source"
        )
    if index.numel:
        refuse_kinds("index_func_", "bc", self.dtype)
    return contiguous(self.shape, self.dtype)


def _index_copy(self: TensorMeta, dim: int, index: TensorMeta, source: TensorMeta) -> TensorMeta:
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise DimensionError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})", argument="index")
    if not source.shape and index.numel != 1:
        raise DimensionError(
            f"index_copy_(): When source is scalar, index should have one element (got {index.numel})", argument="index"
        )
    if source.shape and self.shape and source.ndim != self.ndim:
        raise DimensionError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})",
            argument="source",
        )
    if index.dtype != int64:
        raise DimensionError(
            f"index_copy_(): Expected a long tensor for index, but got {index.dtype.name}", argument="index"
        )
    if self.dtype != source.dtype:
        raise DtypeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{self.dtype.name} and (source) {source.dtype.name}",
            argument="source",
        )
    rest, given = (each.shape[:dim] + each.shape[dim + 1 :] for each in (self, source))
    if rest != given:
        raise ShapeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{list(rest)} at dimension {dim} and source slice shape: {list(given)} at dimension 0.",
            argument="source",
        )
    if source.shape and index.numel != source.shape[dim]:
        raise DimensionError(
            f"index_copy_(): Number of indices ({index.numel}) should be equal to source.size(dim) "
            f"({source.shape[dim]})",
            argument="index",
        )
    return contiguous(self.shape, self.dtype)


def _index_fill(self: TensorMeta, dim: int, index: TensorMeta, value: TensorMeta | Number) -> TensorMeta:
    wrap_dim(dim, self.ndim)
    if index.dtype != int64:
        raise DimensionError("index_fill_(): Expected dtype int64 for index.", argument="index")
    if index.ndim > 1:
        raise DimensionError("Index has to be a vector/scalar", argument="index")
    if isinstance(value, TensorMeta):
        if value.shape:
            raise OperatorError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s).",
                argument="value",
            )
    elif isinstance(value, complex) and not self.dtype.is_complex:
        raise OperatorError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported", argument="value"
        )
    else:
        check_fits(value, self.dtype, "value")
    return preserve_format(self)


def _put(self: TensorMeta, index: TensorMeta, source: TensorMeta, accumulate: bool = False) -> TensorMeta:
    if index.dtype != int64:
        raise DtypeError(f"put_(): Expected a long tensor for index, but got {index.dtype.name}", argument="index")
    if self.dtype != source.dtype:
        raise DtypeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{self.dtype.name} and source.dtype = {source.dtype.name}",
            argument="source",
        )
    if index.numel != source.numel:
        raise DimensionError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel}, index.numel() = {index.numel}",
            argument="source",
        )
    if index.numel and not self.numel:
        raise DimensionError("put_(): cannot put elements into an empty tensor", argument="self")
    return preserve_format(self)


def _as_strided_scatter(
    self: TensorMeta,
    src: TensorMeta,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> TensorMeta:
    part = OWN_RULES["as_strided"](self, size, stride, storage_offset)
    if part.shape != src.shape:
        raise ShapeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part.shape)}",
            argument="src",
        )
    return preserve_format(self)


def _nonzero_static(self: TensorMeta, *, size: int, fill_value: int = -1) -> TensorMeta:
    if size < 0:
        raise OperatorError("nonzero_static: 'size' must be an non-negative integer", argument="size")
    return contiguous((size, self.ndim), int64)
