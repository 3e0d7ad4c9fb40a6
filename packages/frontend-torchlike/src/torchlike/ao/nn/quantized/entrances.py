"""Where numbers become integers and back, and layers that do the same to integers (source: ``torch.ao.nn.quantized``)."""

from __future__ import annotations

from typing import Any, Self

import torchlike as t
from torchlike import nn
from torchlike.nn import MaxPool2d

from .utils import read_qparams

__all__ = ["DeQuantize", "Dropout", "MaxPool2d", "Quantize"]


class Quantize(nn.Module):
    """Quantize by a scale and a zero point (source: ``torch.ao.nn.quantized.Quantize``).

    >>> import torchlike
    >>> Quantize(0.5, 2, torchlike.quint8)(torchlike.tensor([-1.0, 0.4, 3.0])).int_repr()
    tensor([0, 3, 8], dtype=torchlike.uint8)
    """

    scale: t.Tensor
    zero_point: t.Tensor

    def __init__(self, scale: float, zero_point: int, dtype: Any, factory_kwargs: Any = None) -> None:
        super().__init__()
        options = {key: value for key, value in (factory_kwargs or {}).items() if value is not None}
        self.register_buffer("scale", t.tensor([scale], **options))
        self.register_buffer("zero_point", t.tensor([zero_point], **{**options, "dtype": t.int64}))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:  # torch's name
        return t.quantize_per_tensor(X, *read_qparams(self), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """Return the layer for an observed stub."""
        observer = mod.activation_post_process
        scale, zero_point = observer.calculate_qparams()
        return Quantize(scale.float().item(), zero_point.long().item(), observer.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(nn.Module):
    """Return the numbers that integers represent (source: ``torch.ao.nn.quantized.DeQuantize``)."""

    def forward(self, Xq: Any) -> Any:  # torch's name
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """Return the layer for a stub."""
        return DeQuantize()


class Dropout(nn.Dropout):
    """Do nothing: quantized networks are not trained (source: ``torch.ao.nn.quantized.Dropout``)."""

    def forward(self, input: Any) -> Any:
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for another one."""
        return cls(mod.p, mod.inplace)
