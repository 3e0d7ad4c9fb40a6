"""Fused layers that compute with integers (source: ``torch.ao.nn.intrinsic.quantized``)."""

from __future__ import annotations

from typing import Final

from .....names.lazy_names import load_names

_NAMES: Final = {
    "dynamic": "",
    "layers": (
        "BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvReLU1d ConvReLU2d ConvReLU3d LinearLeakyReLU LinearReLU LinearTanh"
    ),
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
