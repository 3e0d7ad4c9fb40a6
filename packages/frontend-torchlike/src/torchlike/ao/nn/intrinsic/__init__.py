"""Layers fused from several (source: ``torch.ao.nn.intrinsic``)."""

from __future__ import annotations

from typing import Final

from ....names.lazy_names import load_names

_NAMES: Final = {
    "fused": (
        "BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d"
        " ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearLeakyReLU LinearReLU LinearTanh"
    ),
    "qat": "",
    "quantized": "",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
