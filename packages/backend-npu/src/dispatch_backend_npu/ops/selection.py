"""Elements that a mask selects, and their positions: how many there are is read from the device, one number."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DataDependentShapeError, OperatorError
from dispatch_aten.shapes import cached_rule, check_output_shape, check_written, contiguous, is_contiguous

from ..aclnn.checks import check_overlap
from ..aclnn.launch import allocate_result, forbid_collecting, launch
from ..arrays import AclArray, to_numpy
from .copy import KERNELS as COPIES

_select_rule: Final = cached_rule("masked_select")
_nonzero_on_host: Final = dc.host_kernel("aten::nonzero")


def _as_mask(array: AclArray) -> AclArray:
    """Return the truth values of the elements."""
    if array.spec.dtype is ScalarType.Bool:
        return array
    mask = allocate_result(contiguous(array.spec.shape, ScalarType.Bool))
    launch("aclnnNeScalar", array, 0, mask)
    return mask


def _count(mask: AclArray) -> int:
    """Return the number of true elements, after waiting for the device."""
    total = allocate_result(contiguous((), ScalarType.Long))
    launch("aclnnReduceSum", mask, (), False, ScalarType.Long, total)
    return int(to_numpy(total).item())


def find_positions(self: AclArray) -> AclArray:
    """Return the positions of the elements that are not zero, a row for each (``aten::nonzero``)."""
    forbid_collecting()
    if self.spec.dtype.is_complex:
        found: AclArray = _nonzero_on_host(self)
        return found
    mask = _as_mask(self) if self.spec.numel else self
    count = _count(mask) if self.spec.numel else 0
    # A column for each, which the result shows as rows: the positions along one dimension lie together.
    dims = len(self.spec.shape)
    columns = allocate_result(contiguous((dims, count), ScalarType.Long))
    if columns.spec.numel:
        launch("aclnnNonzeroV2", mask, columns)
    return columns.view((count, dims), (1, count), 0)


def _select(self: AclArray, mask: AclArray) -> AclArray:
    forbid_collecting()
    with suppress(DataDependentShapeError):
        _select_rule(self, mask)
    if self.spec.dtype.is_complex or 0 in (self.spec.numel, mask.spec.numel):
        found: AclArray = EXPLICIT["masked_select"](self, mask)
        return found
    mask = _as_mask(mask)
    size = cached_rule("mul.Tensor")(self, mask).numel
    whole = allocate_result(contiguous((size,), self.spec.dtype))
    launch("aclnnMaskedSelect", self, mask, whole)
    count = _count(mask) * (size // mask.spec.numel)
    if count == size:
        return whole
    return COPIES["clone"](whole.view((count,), (1,), 0))


_scatter_rule: Final = cached_rule("masked_scatter_")
_scatter_on_host: Final = dc.host_kernel("aten::masked_scatter_")


def _scatter(self: AclArray, mask: AclArray, source: AclArray) -> AclArray:
    forbid_collecting()
    spec = self.spec
    if spec.dtype.is_complex:
        found: AclArray = _scatter_on_host(self, mask, source)
        return found
    check_output_shape(_scatter_rule(self, mask, source).shape, spec.shape)
    check_written(spec)
    for each in (mask, source):
        if each.block is self.block:
            check_overlap(self, each)
    if not spec.numel:
        return self
    if source.spec.numel < _count(mask) * (spec.numel // mask.spec.numel):
        raise OperatorError(
            "masked_scatter: Number of elements of source < number of ones in mask",
            operator="aten::masked_scatter_",
            argument="source",
        )
    if source.spec.numel:
        launch("aclnnInplaceMaskedScatter", self, pack(mask), pack(source))
    return self


def pack(array: AclArray) -> AclArray:
    """Return an array whose elements lie in order, which the function demands."""
    spec = array.spec
    if is_contiguous(spec.shape, spec.strides):
        return array
    packed: AclArray = COPIES["clone"](array, memory_format=0)
    return packed


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "nonzero": find_positions,
    "masked_select": _select,
    "masked_scatter_": _scatter,
}
