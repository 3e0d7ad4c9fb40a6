"""Short ways of the layers of networks that are composites; see `short_ways`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..arrays import Array
from ..kernel_table import Kernel
from . import convolution, normalization

_CONVOLUTION: Final = convolution.KERNELS["convolution"]
_LAYER_NORM: Final = normalization.KERNELS["native_layer_norm"]
_GROUP_NORM: Final = normalization.KERNELS["native_group_norm"]
_EVALUATE: Final = normalization.KERNELS["_native_batch_norm_legit_no_training"]


def _direct(count: int) -> Kernel:
    zeros = (0,) * count

    def way(
        input: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        if input.ndim != count + 2:
            return NotImplemented
        return _CONVOLUTION(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    return way


def _layer_norm(
    input: Array, shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float, cudnn_enable: bool
) -> Any:
    return _LAYER_NORM(input, shape, weight, bias, eps)[0]


def _group_norm(
    input: Array, num_groups: int, weight: Array | None, bias: Array | None, eps: float, cudnn_enabled: bool
) -> Any:
    shape = input.shape
    return _GROUP_NORM(input, weight, bias, shape[0], shape[1], math.prod(shape[2:]), num_groups, eps)[0]


def _batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    if training or running_mean is None or running_var is None or not input.size or input.dtype.kind != "f":
        return NotImplemented
    channels = input.shape[1]
    if any(each is not None and each.size != channels for each in (weight, bias, running_mean, running_var)):
        return NotImplemented
    return _EVALUATE(input, weight, bias, running_mean, running_var, momentum, eps)[0]


#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    **{f"conv{count}d": (_direct(count), {"parts": ("convolution",)}) for count in (1, 2, 3)},
    "layer_norm": (_layer_norm, {"parts": ("native_layer_norm",)}),
    "group_norm": (_group_norm, {"parts": ("native_group_norm",)}),
    "batch_norm": (_batch_norm, {"parts": ("native_batch_norm", "_native_batch_norm_legit_no_training")}),
}
