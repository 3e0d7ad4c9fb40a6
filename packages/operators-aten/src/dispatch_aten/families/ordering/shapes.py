"""Shape rules of order statistics, unique elements, histograms and positions among sorted elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import int32, int64
from dispatch_aten.errors import DataDependentShapeError, DimensionError, DtypeError, OperatorError, ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes.dims import reduced_shape, wrap_dim
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _check_kinds(name: str, self: TensorMeta) -> None:
    refuse_kinds(name, "bc", self.dtype)


def _of_all(name: str) -> Callable[[TensorMeta], TensorMeta]:
    def rule(self: TensorMeta) -> TensorMeta:
        _check_kinds(f"{name}_cpu", self)
        return contiguous((), self.dtype)

    return rule


def _along(name: str, kinds: str) -> Callable[..., tuple[TensorMeta, TensorMeta]]:
    def rule(self: TensorMeta, dim: int = -1, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
        dim = wrap_dim(dim, self.ndim)
        if self.shape and self.shape[dim] == 0:
            raise DimensionError(f"{name}(): Expected reduction dim {dim} to have non-zero size.", argument="dim")
        refuse_kinds(f"{name}_cpu", kinds, self.dtype)
        shape = reduced_shape(self.shape, (dim,) if self.shape else (), keepdim)
        return contiguous(shape, self.dtype), contiguous(shape, int64)

    return rule


_kth_along: Final = _along("kthvalue", "bc")


def _kthvalue(self: TensorMeta, k: int, dim: int = -1, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
    found = _kth_along(self, dim, keepdim)
    if not 1 <= k <= (self.shape[dim] if self.shape else 1):
        raise OperatorError(f"kthvalue(): selected number k out of range for dimension {dim}", argument="k")
    return found


def check_bincount(self: TensorMeta, weights: TensorMeta | None, minlength: int) -> None:
    """Check the arguments of ``bincount``, but for the values."""
    text = ""
    if minlength < 0:
        text = "minlength should be >= 0"
    elif self.ndim != 1:
        text = "bincount only supports 1-d non-negative integral inputs."
    elif weights is not None and (weights.ndim != 1 or weights.numel != self.numel):
        text = "weights should be 1-d and have the same length as input"
    if text:
        raise OperatorError(text, operator="aten::bincount", argument="self")
    refuse_kinds("bincount_cpu", "bfc", self.dtype)


def _unknown(self: TensorMeta, *args: Any, **kwargs: Any) -> TensorMeta:
    refuse_kinds("unique", "c", self.dtype)
    raise DataDependentShapeError("the number of distinct elements is in the values", argument="self")


def _bincount(self: TensorMeta, weights: TensorMeta | None = None, minlength: int = 0) -> TensorMeta:
    check_bincount(self, weights, minlength)
    raise DataDependentShapeError("the greatest number is in the values", argument="self")


def _histc(self: TensorMeta, bins: int = 100, min: Number = 0, max: Number = 0) -> TensorMeta:  # torch's names
    if bins <= 0:
        raise OperatorError(f"torch.histc(): bins must be > 0, but got {bins}", argument="bins")
    if isinstance(min, complex) or isinstance(max, complex):
        raise OperatorError("value cannot be converted to type double without overflow", argument="min")
    if min > max:
        raise OperatorError("torch.histc: max must be larger than min", argument="max")
    refuse_kinds("histogram_cpu", "bic", self.dtype)
    return contiguous((bins,), self.dtype)


def check_weight(self: TensorMeta, weight: TensorMeta | None, shape: Sequence[int]) -> None:
    """Check a histogram's weights, one for each row of ``shape``."""
    if weight is None:
        return
    if weight.dtype != self.dtype:
        raise DtypeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({self.dtype.name.lower()}), and weight({weight.dtype.name.lower()})",
            argument="weight",
        )
    if weight.shape != tuple(shape):
        raise ShapeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(self.shape)} and weight with shape "
            f"{list(weight.shape)}",
            argument="weight",
        )


def _histogram(
    self: TensorMeta,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,  # torch's name
    weight: TensorMeta | None = None,
    density: bool = False,
) -> tuple[TensorMeta, TensorMeta]:
    if bins <= 0:
        raise OperatorError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0", argument="bins")
    if range is not None:
        if len(range) != 2:
            raise OperatorError(
                f"torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {len(range)}",
                argument="range",
            )
        if range[0] > range[1]:
            raise OperatorError(
                "torch.histogramdd: min should not exceed max, but got min "
                f"{range[0]:g} max {range[1]:g} for dimension 0",
                argument="range",
            )
    refuse_kinds("histogramdd", "bic", self.dtype)
    check_weight(self, weight, self.shape)
    return contiguous((bins,), self.dtype), contiguous((bins + 1,), self.dtype)


def _histogram_between(
    self: TensorMeta, bins: TensorMeta, *, weight: TensorMeta | None = None, density: bool = False
) -> tuple[TensorMeta, TensorMeta]:
    if bins.dtype != self.dtype:
        raise DtypeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{self.dtype.name.lower()} and bins for dimension 0 with dtype {bins.dtype.name.lower()}",
            argument="bins",
        )
    if bins.ndim != 1:
        raise ShapeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins "
            "tensor for dimension 0",
            argument="bins",
        )
    if not bins.numel:
        raise OperatorError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            "dimension 0",
            argument="bins",
        )
    refuse_kinds("histogramdd", "bic", self.dtype)
    check_weight(self, weight, self.shape)
    return contiguous((bins.numel - 1,), self.dtype), contiguous(bins.shape, self.dtype)


def _check_side(right: bool, side: str | None) -> None:
    if side not in (None, "left", "right"):
        raise OperatorError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}", argument="side")
    if side == "left" and right:
        raise OperatorError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
            argument="side",
        )


def _check_sorter(sequence: TensorMeta, sorter: TensorMeta | None) -> None:
    if sorter is None:
        return
    if sorter.shape != sequence.shape:
        raise ShapeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(sequence.shape)} and got sorter tensor {list(sorter.shape)}",
            argument="sorter",
        )
    if sorter.dtype != int64:
        raise DtypeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.name}",
            argument="sorter",
        )


def _search(
    sorted_sequence: TensorMeta,
    self: TensorMeta | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: TensorMeta | None = None,
) -> TensorMeta:
    _check_side(right, side)
    _check_sorter(sorted_sequence, sorter)
    shape = self.shape if isinstance(self, TensorMeta) else ()
    if not sorted_sequence.shape:
        raise ShapeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension",
            argument="sorted_sequence",
        )
    if not shape and sorted_sequence.ndim != 1:
        raise ShapeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)",
            argument="self",
        )
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != shape[:-1]:
        raise ShapeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and "
            f"input value tensor {list(shape)}",
            argument="self",
        )
    if sorted_sequence.numel and 0 not in shape:
        refuse_kinds("searchsorted_out_cpu", "bc", sorted_sequence.dtype)
    return contiguous(shape, int32 if out_int32 else int64)


def _bucketize(
    self: TensorMeta | Number, boundaries: TensorMeta, *, out_int32: bool = False, right: bool = False
) -> TensorMeta:
    if boundaries.ndim != 1:
        raise ShapeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})", argument="boundaries"
        )
    return _search(boundaries, self, out_int32=out_int32, right=right)
