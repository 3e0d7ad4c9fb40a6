"""Functions of integers (source: ``torch.ao.nn.quantized.functional``)."""

from __future__ import annotations

from typing import Any

import torchlike as t
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation
from torchlike.nn.modules.utils import _ntuple

__all__ = ["celu", "clamp", "conv1d", "conv2d", "conv3d", "elu", "hardswish", "leaky_relu", "linear", "threshold"]
#: Functions that compute the same of integers as of numbers.
_SAME = (
    *(
        "adaptive_avg_pool2d",
        "adaptive_avg_pool3d",
        "avg_pool2d",
        "avg_pool3d",
        "hardsigmoid",
        "hardtanh",
        "interpolate",
    ),
    *("max_pool1d", "max_pool2d", "upsample", "upsample_bilinear", "upsample_nearest"),
)


def __getattr__(name: str) -> Any:
    if name not in _SAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(F, name)


def __dir__() -> list[str]:
    return [*__all__, *_SAME]


def _make_convolution(dims: int, sizes: str) -> Any:
    """Return the convolution over some dimensions, with torch's arguments."""

    def convolve(
        input: Any,
        weight: Any,
        bias: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        scale: float = 1.0,
        zero_point: int = 0,
        dtype: Any = t.quint8,
    ) -> Any:
        if input.dtype != t.quint8:
            raise NotImplementedError(f"Only torch.quint8 is supported for activation tensor, not {input.dtype}")
        if weight.dtype != t.qint8:
            raise NotImplementedError(f"Only torch.qint8 is supported for weight tensor, not {weight.dtype}")
        if input.ndim != dims + 2:
            raise ValueError(f"Input must have {dims + 2} dimensions")
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        steps = map(_ntuple(dims), (stride, padding, dilation))
        operators = t.ops.quantized
        packed = getattr(operators, f"conv{dims}d_prepack")(weight, bias, *steps, groups)
        return getattr(operators, f"conv{dims}d")(input, packed, scale, zero_point)

    convolve.__name__ = convolve.__qualname__ = f"conv{dims}d"
    convolve.__doc__ = f"Return the convolution of integers ``{sizes}`` with a quantized weight."
    return convolve


conv1d = _make_convolution(1, "(N, C, L)")
conv2d = _make_convolution(2, "(N, C, H, W)")
conv3d = _make_convolution(3, "(N, C, D, H, W)")


def linear(input: Any, weight: Any, bias: Any = None, scale: Any = None, zero_point: Any = None) -> Any:
    """Return integers times a quantized weight, scaled; without a scale, by the input's."""
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    packed = t.ops.quantized.linear_prepack(weight, bias)
    return t.ops.quantized.linear(input, packed, scale, zero_point)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """Return ``elu`` of integers."""
    return t.ops.quantized.elu(input, scale, zero_point, alpha)


def celu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """Return ``celu`` of integers."""
    return t.ops.quantized.celu(input, scale, zero_point, alpha)


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """Return ``hardswish`` of integers."""
    return t.ops.quantized.hardswish(input, scale, zero_point)


def leaky_relu(
    input: Any, negative_slope: float = 0.01, inplace: bool = False, scale: Any = None, zero_point: Any = None
) -> Any:
    """Return negative numbers times a slope, and others; without a scale, by the input's."""
    if scale is None or zero_point is None:
        return F.leaky_relu(input, negative_slope, inplace)
    return t.ops.quantized.leaky_relu(input, negative_slope, inplace, scale, zero_point)


def clamp(input: Any, min_: float, max_: float) -> Any:
    """Return the numbers limited to a range."""
    return t.clamp(input, min_, max_)


def threshold(input: Any, threshold: float, value: float) -> Any:
    """Return ``value`` for numbers that are not above ``threshold``."""
    return F.threshold(input, threshold, value)
