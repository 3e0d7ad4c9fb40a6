"""Functions for plain calls of composites, in place of the operators that they call; see `Library.short_way`.

One that declines returns ``NotImplemented``, or raises: the composite then has the call, and its errors. Calls whose
gradients are asked for, and those in pipelines, go by the composite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, contiguous, wrap_dim

from ..aclnn.conditions import is_filled
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray, to_numpy

_mul_rule: Final = cached_rule("mul.Tensor")
_eq_rule: Final = cached_rule("eq.Tensor")
_sum_rule: Final = cached_rule("sum.dim_IntList")


def _mish_backward(grad_output: AclArray, self: AclArray) -> AclArray:
    grad = allocate_result(_mul_rule(grad_output, self))
    if not is_filled(grad.spec):
        return NotImplemented
    launch("aclnnMishBackward", grad_output, self, grad)
    return grad


def _isclose(
    self: AclArray, other: AclArray, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> AclArray:
    """Compare floats of up to 32 bits: the function rounds the tolerances to these."""
    dtype = self.spec.dtype
    if not (dtype is other.spec.dtype and dtype.is_floating_point and dtype.itemsize <= 4 and rtol >= 0 and atol >= 0):
        return NotImplemented
    found = allocate_result(_eq_rule(self, other))
    launch("aclnnIsClose", self, other, rtol, atol, equal_nan, found)
    return found


def _nansum(
    self: AclArray, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: ScalarType | None = None
) -> AclArray:
    if not self.spec.dtype.is_floating_point:
        return NotImplemented
    total = allocate_result(_sum_rule(self, dim, keepdim, dtype=dtype))
    dims = () if dim is None else (dim,) if isinstance(dim, int) else dim
    launch("aclnnReduceNansum", self, dims, keepdim, total.spec.dtype, total)
    return total


def _trace(self: AclArray) -> AclArray:
    dtype = self.spec.dtype
    if len(self.spec.shape) != 2 or dtype is ScalarType.Bool or dtype.is_complex or not is_filled(self.spec):
        return NotImplemented
    total = allocate_result(contiguous((), ScalarType.Long if dtype.is_integral else dtype))
    launch("aclnnTrace", self, total)
    return total


def _renorm(self: AclArray, p: float, dim: int, maxnorm: float) -> AclArray:
    shape, dtype = self.spec.shape, self.spec.dtype
    if len(shape) < 2 or not is_filled(self.spec) or not (p > 0 and maxnorm >= 0):
        return NotImplemented
    shortened = allocate_result(contiguous(shape, dtype))
    launch("aclnnRenorm", self, p, wrap_dim(dim, len(shape)), maxnorm, shortened)
    return shortened


def _count_repeats(repeats: AclArray, size: int) -> int:
    """Return how many entries there will be, after waiting for the device; -1 where a number is negative."""
    total = allocate_result(contiguous((), ScalarType.Long))
    least = allocate_result(contiguous((), repeats.spec.dtype))
    launch("aclnnReduceSum", repeats, (), False, ScalarType.Long, total)
    launch("aclnnMin", repeats, least)
    if to_numpy(least).item() < 0:
        return -1
    return int(to_numpy(total).item()) * (size if repeats.spec.numel == 1 else 1)


def _repeat_each(
    self: AclArray, repeats: AclArray, dim: int | None = None, *, output_size: int | None = None
) -> AclArray:
    shape, count = self.spec.shape, repeats.spec.numel
    if not is_filled(self.spec) or len(repeats.spec.shape) > 1 or (dim is not None and not shape):
        return NotImplemented
    where = None if dim is None else wrap_dim(dim, len(shape))
    size = self.spec.numel if where is None else shape[where]
    if count not in (1, size) or (count == 1 and output_size is not None):
        return NotImplemented
    total = _count_repeats(repeats, size) if output_size is None else output_size
    if total <= 0:
        return NotImplemented
    if where is None:
        repeated = allocate_result(contiguous((total,), self.spec.dtype))
        launch("aclnnRepeatInterleave", self, repeats, total, repeated)
    else:
        repeated = allocate_result(contiguous((*shape[:where], total, *shape[where + 1 :]), self.spec.dtype))
        launch("aclnnRepeatInterleaveWithDim", self, repeats, where, total, repeated)
    return repeated


SHORT_WAYS: Final[dict[str, Callable[..., Any]]] = {
    "mish_backward": _mish_backward,
    "isclose": _isclose,
    "nansum": _nansum,
    "trace": _trace,
    "renorm": _renorm,
    "repeat_interleave.self_Tensor": _repeat_each,
}
