"""Fused layers with quantized weights (source: ``torch.ao.nn.intrinsic.quantized.dynamic``)."""

from __future__ import annotations

from typing import Any, ClassVar

from ...quantized.dynamic import linear
from .. import fused

__all__ = ["LinearReLU"]
__path__: list[str] = []  # it is a package in torch; see Note [Public paths]


class LinearReLU(linear.Linear):
    """Multiply, and then ReLU (source: ``torch.ao.nn.intrinsic.quantized.dynamic.LinearReLU``)."""

    _FLOAT_MODULE: ClassVar[Any] = (fused.LinearReLU,)
    _operator, _name = "linear_relu_dynamic", "DynamicQuantizedLinearReLU"
