"""Convolutions of numbers with a quantized weight (source: ``torch.ao.nn.quantized.dynamic.modules.conv``)."""

from __future__ import annotations

from typing import Any

import torchlike as t

from .. import conv

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _Dynamic(conv._ConvNd):
    """The part that quantizes the input by its own range."""

    def forward(self, input: Any, reduce_range: bool = True) -> Any:
        if len(input.shape) != self._dims + 2:
            raise ValueError(f"Input shape must be `{conv._SHAPES[self._dims]}`!")
        # As in torch, the result has the input's scale and zero point in between, and loses what lies beyond its range.
        whole = t.quantize_per_tensor_dynamic(input, t.quint8, reduce_range)
        found = self._find_operator("")(whole, self._packed_params, whole.q_scale(), whole.q_zero_point())
        return found.dequantize()

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"


class Conv1d(_Dynamic, conv.Conv1d):
    """Convolve ``(N, C, L)`` (source: ``torch.ao.nn.quantized.dynamic.Conv1d``)."""


class Conv2d(_Dynamic, conv.Conv2d):
    """Convolve ``(N, C, H, W)`` (source: ``torch.ao.nn.quantized.dynamic.Conv2d``)."""


class Conv3d(_Dynamic, conv.Conv3d):
    """Convolve ``(N, C, D, H, W)`` (source: ``torch.ao.nn.quantized.dynamic.Conv3d``)."""


class ConvTranspose1d(_Dynamic, conv.ConvTranspose1d):
    """Transpose a convolution of ``(N, C, L)`` (source: ``torch.ao.nn.quantized.dynamic.ConvTranspose1d``)."""


class ConvTranspose2d(_Dynamic, conv.ConvTranspose2d):
    """Transpose a convolution of ``(N, C, H, W)`` (source: ``torch.ao.nn.quantized.dynamic.ConvTranspose2d``)."""


class ConvTranspose3d(_Dynamic, conv.ConvTranspose3d):
    """Transpose a convolution of ``(N, C, D, H, W)`` (source: ``torch.ao.nn.quantized.dynamic.ConvTranspose3d``)."""
