"""Normalizations of integers (source: ``torch.ao.nn.quantized.modules.normalization`` and ``batchnorm``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn

from ..intrinsic import fused
from .activation import _Buffered, qparams_of
from .utils import read_qparams

__all__ = [
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
]


class _Scaled(_Buffered):
    """The part of layers that have another one's parameters."""

    weight: Any
    bias: Any

    def _take(self, weight: Any, bias: Any, scale: float, zero_point: int, device: Any, dtype: Any) -> None:
        self.weight, self.bias = weight, bias
        self._keep(scale, zero_point, device, dtype)


class LayerNorm(_Scaled, nn.LayerNorm):
    """Normalize the last dimensions (source: ``torch.ao.nn.quantized.LayerNorm``)."""

    def __init__(
        self,
        normalized_shape: Any,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        nn.LayerNorm.__init__(self, normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)
        self._take(weight, bias, scale, zero_point, device, dtype)

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, *read_qparams(self)
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one."""
        return cls(mod.normalized_shape, mod.weight, mod.bias, *qparams_of(mod), mod.eps, mod.elementwise_affine)


class GroupNorm(_Scaled, nn.GroupNorm):
    """Normalize groups of channels (source: ``torch.ao.nn.quantized.GroupNorm``)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        nn.GroupNorm.__init__(self, num_groups, num_channels, eps, affine, device=device, dtype=dtype)
        self._take(weight, bias, scale, zero_point, device, dtype)

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.group_norm(input, self.num_groups, self.weight, self.bias, self.eps, *read_qparams(self))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one."""
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *qparams_of(mod), mod.eps, mod.affine)


class _InstanceNorm(_Scaled):
    _base: ClassVar[Any]
    eps: float

    def __init__(
        self,
        num_features: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = {"device": device, "dtype": dtype}
        self._base.__init__(self, num_features, eps, momentum, affine, track_running_stats, **options)
        self._take(weight, bias, scale, zero_point, device, dtype)

    def forward(self, input: Any) -> Any:
        return t.ops.quantized.instance_norm(input, self.weight, self.bias, self.eps, *read_qparams(self))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one."""
        return cls(mod.num_features, mod.weight, mod.bias, *qparams_of(mod), mod.eps, mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """Normalize each channel of each sample ``(N, C, L)`` (source: ``torch.ao.nn.quantized.InstanceNorm1d``)."""

    _base = nn.InstanceNorm1d


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """Normalize each channel of each sample ``(N, C, H, W)`` (source: ``torch.ao.nn.quantized.InstanceNorm2d``)."""

    _base = nn.InstanceNorm2d


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """Normalize each channel of each sample ``(N, C, D, H, W)`` (source: ``torch.ao.nn.quantized.InstanceNorm3d``)."""

    _base = nn.InstanceNorm3d


class _BatchNorm(_Scaled):
    """The part of batch normalizations, which compute with running statistics."""

    _base: ClassVar[Any]
    _fused: ClassVar[Any]
    _operator: ClassVar[str]
    running_mean: Any
    running_var: Any
    eps: float

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None, dtype: Any = None
    ) -> None:
        self._base.__init__(self, num_features, eps, momentum, True, True, device=device, dtype=dtype)
        self._keep(1.0, 0, device, dtype)

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        values = self.weight, self.bias, self.running_mean, self.running_var
        return getattr(t.ops.quantized, self._operator)(input, *values, self.eps, *read_qparams(self))

    def _check_input_dim(self, input: Any) -> None:
        wanted = "(N, C, H, W)" if "2d" in self._operator else "(N, C, D, H, W)"
        if len(input.shape) != wanted.count(",") + 1:
            raise ValueError(f"Input shape must be `{wanted}`!")

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one."""
        observer = mod.activation_post_process
        mod = mod[0] if type(mod) is cls._fused else mod
        made: Any = cls(mod.num_features, mod.eps)
        for name in "weight", "bias", "running_mean", "running_var":
            setattr(made, name, getattr(mod, name))
        made.scale, made.zero_point = observer.calculate_qparams()
        found: Self = made
        return found


class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """Normalize channels of ``(N, C, H, W)`` (source: ``torch.ao.nn.quantized.BatchNorm2d``)."""

    _base, _fused, _operator = nn.BatchNorm2d, fused.BNReLU2d, "batch_norm2d"


class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """Normalize channels of ``(N, C, D, H, W)`` (source: ``torch.ao.nn.quantized.BatchNorm3d``)."""

    _base, _fused, _operator = nn.BatchNorm3d, fused.BNReLU3d, "batch_norm3d"
