"""The largest elements of windows, whose places aclnn gives, and takes, as 32-bit integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, contiguous

from ..aclnn.composition import compose
from ..aclnn.conditions import is_filled, spread
from ..aclnn.dtypes import takes
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray
from ..runtime.device import chip

#: Dimensions → the function, and that of its gradient.
_FORWARD: Final = {2: "aclnnMaxPool2dWithIndices", 3: "aclnnMaxPool3dWithArgmax"}
_BACKWARD: Final = {2: "aclnnMaxPool2dWithIndicesBackward", 3: "aclnnMaxPool3dWithArgmaxBackward"}
_LIMIT: Final = 1 << 31
#: Images of at most so many elements may have adaptive windows of different sizes in the gradient.
_UNEVEN_LIMIT: Final = 1 << 24


def _has_short_places(self: AclArray, count: int) -> bool:
    """Return whether there are images, and 32 bits hold the places in them."""
    return is_filled(self) and prod(self.shape[-count:]) < _LIMIT


def _is_taken(self: AclArray, dilation: Any, count: int) -> bool:
    return _has_short_places(self, count) and set(spread(dilation, count)) == {1}


def _convert(array: AclArray, dtype: ScalarType, like: Any = None) -> AclArray:
    """Return an array of another scalar type, laid out as ``like`` describes or row-major."""
    converted = allocate_result(contiguous(array.shape, dtype) if like is None else like)
    launch("aclnnCast", array, dtype, converted)
    return converted


def _as_volumes(array: AclArray) -> AclArray:
    """Return a view of images as volumes of one layer."""
    *outer, height, width = array.shape
    *steps, down, across = array.strides
    return array.view((*outer, 1, height, width), (*steps, height * down, down, across), array.storage_offset)


def _max_pool(count: int) -> Callable[..., Any]:
    name = f"max_pool{count}d_with_indices"
    rule = cached_rule(name)

    def kernel(
        self: AclArray,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> tuple[AclArray, AclArray]:
        if not _is_taken(self, dilation, count):
            composed: tuple[AclArray, AclArray] = compose(name, self, kernel_size, stride, padding, dilation, ceil_mode)
            return composed
        spec, places = rule(self, kernel_size, stride, padding, dilation, ceil_mode)
        out, narrow = allocate_result(spec), allocate_result(contiguous(spec.shape, ScalarType.Int))
        window = [spread(value, count) for value in (kernel_size, stride, padding, dilation)]
        launch(_FORWARD[count], self, *window, ceil_mode, out, narrow)
        return out, _convert(narrow, ScalarType.Long, places)

    return kernel


def _max_pool_backward(count: int) -> Callable[..., AclArray]:
    name = f"max_pool{count}d_with_indices_backward"
    rule = cached_rule(name)

    def kernel(
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
        if not is_filled(grad_output) or not _is_taken(self, dilation, count):
            composed: AclArray = compose(name, grad_output, self, *window, ceil_mode, indices)
            return composed
        grad = allocate_result(rule(grad_output, self, *window, ceil_mode, indices))
        tensors = [grad_output, self, _convert(indices, ScalarType.Int), grad]
        lists = [spread(value, count) for value in window]
        function = _BACKWARD[count]
        if count == 2 and not _takes_gradient(function, self.dtype):
            function, tensors = _BACKWARD[3], [*map(_as_volumes, tensors)]
            lists = [[first, *each] if each else [] for first, each in zip((1, 1, 0, 1), lists, strict=True)]
        launch(function, *tensors[:3], *lists, ceil_mode, tensors[3])
        return grad

    return kernel


def _takes_gradient(function: str, dtype: ScalarType) -> bool:
    taken = takes(function, chip().family)
    return taken is not None and dtype in taken["gradOutput"]


def _adaptive_max_pool3d(self: AclArray, output_size: Sequence[int]) -> tuple[AclArray, AclArray]:
    spec, places = cached_rule("adaptive_max_pool3d")(self, output_size)
    if not _has_short_places(self, 3) or not is_filled(spec):
        composed: tuple[AclArray, AclArray] = compose("adaptive_max_pool3d", self, output_size)
        return composed
    out, narrow = allocate_result(spec), allocate_result(contiguous(spec.shape, ScalarType.Int))
    launch("aclnnAdaptiveMaxPool3d", self, output_size, out, narrow)
    return out, _convert(narrow, ScalarType.Long, places)


def _adaptive_max_pool_backward(count: int) -> Callable[..., AclArray]:
    """Return the kernel of a gradient; that of images is computed as volumes', which CANN 8.1 has."""
    name = f"adaptive_max_pool{count}d_backward"
    rule = cached_rule(name)

    def kernel(grad_output: AclArray, self: AclArray, indices: AclArray) -> AclArray:
        sizes = zip(self.shape[-count:], grad_output.shape[-count:], strict=True)
        if (
            not is_filled(grad_output)
            or not _has_short_places(self, count)
            or (prod(self.shape) > _UNEVEN_LIMIT and any(size % new for size, new in sizes))
        ):
            composed: AclArray = compose(name, grad_output, self, indices)
            return composed
        grad = allocate_result(rule(grad_output, self, indices))
        tensors = [grad_output, self, _convert(indices, ScalarType.Int), grad]
        launch("aclnnAdaptiveMaxPool3dBackward", *(map(_as_volumes, tensors) if count == 2 else tensors))
        return grad

    return kernel


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "adaptive_max_pool3d": _adaptive_max_pool3d,
    **{f"max_pool{count}d_with_indices": _max_pool(count) for count in (2, 3)},
    **{f"max_pool{count}d_with_indices_backward": _max_pool_backward(count) for count in (2, 3)},
    **{f"adaptive_max_pool{count}d_backward": _adaptive_max_pool_backward(count) for count in (2, 3)},
}
