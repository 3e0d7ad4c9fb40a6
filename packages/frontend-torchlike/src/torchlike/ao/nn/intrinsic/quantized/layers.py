"""Layers with what follows them in one step (source: ``torch.ao.nn.intrinsic.quantized.modules``)."""

from __future__ import annotations

from typing import Any, ClassVar

import torchlike as t
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation

from ...quantized import conv, linear, normalization
from .. import fused

__all__ = [
    "BNReLU2d",
    "BNReLU3d",
    "ConvAdd2d",
    "ConvAddReLU2d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearLeakyReLU",
    "LinearReLU",
    "LinearTanh",
]


class LinearReLU(linear.Linear):
    """Multiply, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.LinearReLU``)."""

    _FLOAT_MODULE, _operator, _name = fused.LinearReLU, "linear_relu", "QuantizedLinearReLU"


class LinearTanh(linear.Linear):
    """Multiply, and then tanh (source: ``torch.ao.nn.intrinsic.quantized.LinearTanh``)."""

    _FLOAT_MODULE, _operator, _name = fused.LinearTanh, "linear_tanh", "QuantizedLinearTanh"


class LinearLeakyReLU(linear.Linear):
    """Multiply, and then leaky ReLU (source: ``torch.ao.nn.intrinsic.quantized.LinearLeakyReLU``)."""

    _FLOAT_MODULE, _operator, _name = fused.LinearLeakyReLU, "linear_leaky_relu", "QuantizedLinearLeakyReLU"

    def __init__(
        self, in_features: int, out_features: int, negative_slope: float, bias: bool = True, dtype: Any = t.qint8
    ) -> None:
        super().__init__(in_features, out_features, bias, dtype)
        self.negative_slope = negative_slope

    def forward(self, x: Any) -> Any:
        packed = self._packed_params._packed_params
        return t.ops.quantized.linear_leaky_relu(x, packed, self.scale, self.zero_point, self.negative_slope)

    @classmethod
    def _options_of(cls, mod: Any) -> dict[str, Any]:
        return {"negative_slope": mod[1].negative_slope}


class ConvReLU1d(conv.Conv1d):
    """Convolve ``(N, C, L)``, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.ConvReLU1d``)."""

    _FLOAT_MODULE: ClassVar[Any] = fused.ConvReLU1d
    _operator = ("conv", "_relu")


class ConvReLU2d(conv.Conv2d):
    """Convolve ``(N, C, H, W)``, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.ConvReLU2d``)."""

    _FLOAT_MODULE: ClassVar[Any] = fused.ConvReLU2d
    _operator = ("conv", "_relu")


class ConvReLU3d(conv.Conv3d):
    """Convolve ``(N, C, D, H, W)``, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.ConvReLU3d``)."""

    _FLOAT_MODULE: ClassVar[Any] = fused.ConvReLU3d
    _operator = ("conv", "_relu")


class ConvAdd2d(conv.Conv2d):
    """Convolve ``(N, C, H, W)``, and add to the result (source: ``torch.ao.nn.intrinsic.quantized.ConvAdd2d``)."""

    _FLOAT_MODULE: ClassVar[Any] = fused.ConvAdd2d
    _operator = ("conv", "_add")

    def forward(self, input: Any, extra_input: Any) -> Any:  # type: ignore[override]  # of two tensors, as torch's
        if len(input.shape) != 4:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        if self.padding_mode != "zeros":
            input = F.pad(input, conv._reverse_repeat_padding(self.padding), mode=self.padding_mode)
        packed = self._packed_params
        return self._find_operator(self._operator[1])(input, extra_input, packed, self.scale, self.zero_point)


class ConvAddReLU2d(ConvAdd2d):
    """Convolve, add, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.ConvAddReLU2d``)."""

    _FLOAT_MODULE: ClassVar[Any] = fused.ConvAddReLU2d
    _operator = ("conv", "_add_relu")


class BNReLU2d(normalization.BatchNorm2d):
    """Normalize channels of ``(N, C, H, W)``, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.BNReLU2d``)."""

    _operator = "batch_norm2d_relu"


class BNReLU3d(normalization.BatchNorm3d):
    """Normalize channels of ``(N, C, D, H, W)``, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.BNReLU3d``)."""

    _operator = "batch_norm3d_relu"
