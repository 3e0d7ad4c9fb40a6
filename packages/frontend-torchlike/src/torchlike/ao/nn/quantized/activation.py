"""Activations of integers (source: ``torch.ao.nn.quantized.modules.activation``)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import torchlike as t
from torchlike import nn

from .utils import read_qparams

__all__ = ["ELU", "Hardswish", "LeakyReLU", "PReLU", "ReLU6", "Sigmoid", "Softmax"]


def qparams_of(mod: Any) -> tuple[float, int]:
    """Return the scale and the zero point that an observed module's observer found."""
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return float(scale), int(zero_point)


class _Named:
    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"


class ReLU6(_Named, nn.ReLU):
    """Limit to the numbers from 0 to 6 (source: ``torch.ao.nn.quantized.ReLU6``)."""

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.relu6(input, self.inplace)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """Return the layer for another one."""
        return ReLU6(mod.inplace)


class _Buffered(_Named, nn.Module):
    """The part of layers whose scale and zero point are buffers."""

    scale: t.Tensor
    zero_point: t.Tensor

    def _keep(self, scale: float, zero_point: int, device: Any = None, dtype: Any = None) -> None:
        self.register_buffer("scale", t.tensor(scale, device=device, dtype=dtype))
        self.register_buffer("zero_point", t.tensor(zero_point, device=device, dtype=dtype))


class Hardswish(_Buffered, nn.Hardswish):
    """Compute ``hardswish`` (source: ``torch.ao.nn.quantized.Hardswish``)."""

    def __init__(self, scale: float, zero_point: int, device: Any = None, dtype: Any = None) -> None:
        nn.Hardswish.__init__(self)
        self._keep(scale, zero_point, device, dtype)

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.hardswish(input, *read_qparams(self))

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        """Return the layer for an observed one."""
        return Hardswish(*qparams_of(mod))


class LeakyReLU(_Buffered, nn.LeakyReLU):
    """Multiply negative numbers by a slope (source: ``torch.ao.nn.quantized.LeakyReLU``)."""

    def __init__(
        self,
        scale: float,
        zero_point: int,
        negative_slope: float = 0.01,
        inplace: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        nn.LeakyReLU.__init__(self, negative_slope, inplace)
        self._keep(scale, zero_point, device, dtype)

    def forward(self, input: Any) -> Any:
        scaled = read_qparams(self)
        return t.ops.quantized.leaky_relu(input, self.negative_slope, self.inplace, *scaled)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one."""
        return cls(*qparams_of(mod), mod.negative_slope, mod.inplace)


class ELU(_Named, nn.ELU):
    """Compute ``elu`` (source: ``torch.ao.nn.quantized.ELU``)."""

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.elu(input, self.scale, self.zero_point, self.alpha)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        """Return the layer for an observed one."""
        return ELU(*qparams_of(mod), mod.alpha)


class Sigmoid(nn.Sigmoid):
    """Compute ``sigmoid`` (source: ``torch.ao.nn.quantized.Sigmoid``)."""

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one."""
        return cls(*qparams_of(mod))


class Softmax(_Named, nn.Softmax):
    """Compute ``softmax`` along a dimension (source: ``torch.ao.nn.quantized.Softmax``)."""

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__(dim)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Any) -> Any:
        dim = self.dim
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return t.ops.quantized.softmax(input, dim, self.scale, self.zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        """Return the layer for an observed one."""
        return Softmax(mod.dim, *qparams_of(mod))


class PReLU(_Named, nn.Module):
    """Multiply negative numbers by quantized slopes (source: ``torch.ao.nn.quantized.PReLU``)."""

    weight: Any

    def __init__(self, output_scale: float, output_zero_point: int, num_parameters: int = 1) -> None:
        super().__init__()
        self.num_parameters, self.scale, self.zero_point = num_parameters, output_scale, output_zero_point
        drawn = t.randn(num_parameters, dtype=t.float32)
        self.set_weight(t.quantize_per_tensor(drawn, scale=1.0, zero_point=0, dtype=t.quint8))

    def set_weight(self, w: Any) -> None:
        """Take quantized slopes."""
        self.weight = w

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.prelu(input, self.weight, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one."""
        made = cls(*qparams_of(mod), mod.num_parameters)
        weight, observer = mod.weight.float(), mod.qconfig.weight()
        observer(weight)
        if observer.dtype != t.quint8:
            warnings.warn(f"PReLU's weight observer should have dtype quint8 but got {observer.dtype}", stacklevel=2)
        scale, zero_point = observer.calculate_qparams()
        made.set_weight(t.quantize_per_tensor(weight, float(scale), int(zero_point), t.quint8))
        return made
