"""The largest elements of windows, whose places aclnn gives, and takes, as 32-bit integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, contiguous

from ..aclnn.composition import compose
from ..aclnn.conditions import is_filled
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray

_FORWARD: Final = "max_pool2d_with_indices"
_BACKWARD: Final = "max_pool2d_with_indices_backward"
_forward_rule: Final = cached_rule(_FORWARD)
_backward_rule: Final = cached_rule(_BACKWARD)


def _is_taken(self: AclArray, dilation: Any) -> bool:
    return is_filled(self) and (dilation == 1 or (isinstance(dilation, Sequence) and set(dilation) == {1}))


def _convert(array: AclArray, dtype: ScalarType, like: Any = None) -> AclArray:
    """Return an array of another scalar type, laid out as ``like`` describes or row-major."""
    converted = allocate_result(contiguous(array.shape, dtype) if like is None else like)
    launch("aclnnCast", array, dtype, converted)
    return converted


def _max_pool(
    self: AclArray,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[AclArray, AclArray]:
    if not _is_taken(self, dilation):
        found: tuple[AclArray, AclArray] = compose(_FORWARD, self, kernel_size, stride, padding, dilation, ceil_mode)
        return found
    spec, places = _forward_rule(self, kernel_size, stride, padding, dilation, ceil_mode)
    out, narrow = allocate_result(spec), allocate_result(contiguous(spec.shape, ScalarType.Int))
    window = [_as_list(value) for value in (kernel_size, stride, padding, dilation)]
    launch("aclnnMaxPool2dWithIndices", self, *window, ceil_mode, out, narrow)
    return out, _convert(narrow, ScalarType.Long, places)


def _max_pool_backward(
    grad_output: AclArray,
    self: AclArray,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: AclArray,
) -> AclArray:
    window = (kernel_size, stride, padding, dilation)
    if self.dtype is not ScalarType.Float or not _is_taken(grad_output, dilation):
        found: AclArray = compose(_BACKWARD, grad_output, self, *window, ceil_mode, indices)
        return found
    grad = allocate_result(_backward_rule(grad_output, self, *window, ceil_mode, indices))
    places = _convert(indices, ScalarType.Int)
    lists = map(_as_list, window)
    launch("aclnnMaxPool2dWithIndicesBackward", grad_output, self, places, *lists, ceil_mode, grad)
    return grad


def _as_list(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else list(value)


KERNELS: Final[dict[str, Callable[..., Any]]] = {_FORWARD: _max_pool, _BACKWARD: _max_pool_backward}
