"""Convolutions with a quantized weight (source: ``torch.ao.nn.quantized.modules.conv``)."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

import torchlike as t
from torchlike import nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation
from torchlike.nn.modules.utils import _ntuple
from torchlike.nn.utils.fusion import fuse_conv_bn_weights

from ..intrinsic import fused
from ..intrinsic import qat as fused_qat
from .utils import WeightedQuantizedModule, _quantize_weight, guard_attributes

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_SHAPES = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}
#: The attributes that begin the state of torch's files.
_STATE: Final = (
    "in_channels out_channels kernel_size stride padding dilation transposed output_padding groups padding_mode".split()
)


def _reverse_repeat_padding(padding: Any) -> list[int]:
    """Return the padding of both sides, the last dimension first."""
    return [each for each in reversed(padding) for _ in range(2)]


class _ConvNd(WeightedQuantizedModule):
    """The part that all share."""

    _dims: ClassVar[int]
    _FLOAT_MODULE: ClassVar[Any]
    #: The operator's name without its number of dimensions, and what follows that.
    _operator: ClassVar[tuple[str, str]] = ("conv", "")
    _transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        *,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        if out_channels <= 0:
            raise ValueError(f"out_channels must be greater than 0, got {out_channels}")
        if in_channels % groups != 0 or out_channels % groups != 0:
            raise ValueError(f"{'in' if in_channels % groups else 'out'}_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect"):
            raise ValueError(f"'padding_mode' {padding_mode} is not supported by quantized convolution")
        if padding_mode == "reflect" and self._dims == 3:
            raise AssertionError("Conv3d does not support reflection padding")
        spread = _ntuple(self._dims)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, spread(kernel_size)
        self.stride, self.dilation = spread(stride), spread(dilation)
        self.padding = padding if isinstance(padding, str) else spread(padding)
        self.transposed, self.output_padding = self._transposed, spread(output_padding)
        self.groups, self.padding_mode = groups, padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = [first, second // groups, *self.kernel_size]
        options = {} if device is None else {"device": device}
        weight = t._empty_affine_quantized(shape, scale=1, zero_point=0, dtype=t.qint8, **options)
        self.set_weight_bias(weight, t.zeros(out_channels, **options) if bias else None)
        self.scale, self.zero_point = 1.0, 0

    def _find_operator(self, what: str) -> Any:
        return getattr(t.ops.quantized, f"{self._operator[0]}{self._dims}d{what}")

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take a quantized weight, and a bias of floats or None."""
        padding = self.padding if self.padding_mode == "zeros" else (0,) * self._dims
        bias = None if b is None else b.detach()
        self._packed_params = self._find_operator("_prepack")(w, bias, self.stride, padding, self.dilation, self.groups)

    def _weight_bias(self) -> tuple[Any, Any]:
        found: tuple[Any, Any] = self._find_operator("_unpack")(self._packed_params)
        return found

    def forward(self, input: Any) -> Any:
        if len(input.shape) != self._dims + 2:
            raise ValueError(f"Input shape must be `{_SHAPES[self._dims]}`!")
        if self.padding_mode != "zeros":
            input = F.pad(input, _reverse_repeat_padding(self.padding), mode=self.padding_mode)
        guard_attributes(self, "_packed_params", "scale", "zero_point")
        return self._find_operator(self._operator[1])(input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride},"
            f" scale={self.scale}, zero_point={self.zero_point}"
        )
        for name, usual in ("padding", 0), ("dilation", 1), ("output_padding", 0):
            value = getattr(self, name)
            text += "" if value == (usual,) * len(value) else f", {name}={value}"
        text += "" if self.groups == 1 else f", groups={self.groups}"
        return text if self.bias() is not None else f"{text}, bias=False"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def __getstate__(self) -> Any:
        """Return what torch's files have of the layer, a tuple."""
        values = [getattr(self, name) for name in _STATE]
        return *values, *self._weight_bias(), self.scale, self.zero_point, self.training

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):  # of files of 0.1
            super().__setstate__(state)
            return
        nn.Module.__init__(self)
        for name, value in zip(_STATE, state, strict=False):
            setattr(self, name, value)
        self.set_weight_bias(*state[10:12])
        self.scale, self.zero_point, self.training = state[12:]

    @classmethod
    def _make(cls, mod: Any) -> Self:
        """Return a layer with the sizes of another one."""
        return cls(
            mod.in_channels,
            mod.out_channels,
            mod.kernel_size,
            mod.stride,
            mod.padding,
            mod.dilation,
            mod.groups,
            mod.bias is not None,
            mod.padding_mode,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one, which has a ``qconfig``."""
        observer = getattr(mod, "activation_post_process", None)
        if hasattr(mod, "weight_fake_quant"):
            if isinstance(mod, fused_qat._ConvBn):
                mod.weight, mod.bias = mod._normalized_weights(fuse_conv_bn_weights)
            if observer is None:
                raise AssertionError("Input QAT module must have observer attached")
            of_weight = mod.weight_fake_quant
        else:
            if type(mod) is not cls._FLOAT_MODULE:
                names = cls._FLOAT_MODULE.__name__, type(mod).__name__
                raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {names[0]} but got: {names[1]}")
            if not hasattr(mod, "qconfig"):
                raise AssertionError("Input float module must have qconfig defined.")
            mod = mod[0] if isinstance(mod, fused._FusedModule) else mod
            of_weight = mod.qconfig.weight()
        of_weight(mod.weight)
        if of_weight.dtype != t.qint8:
            raise AssertionError(f"Weight observer must have a dtype of qint8, got {of_weight.dtype}")
        made = cls._make(mod)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), of_weight), mod.bias)
        made._take_qparams(observer)
        return made


class Conv1d(_ConvNd):
    """Convolve integers ``(N, C, L)`` (source: ``torch.ao.nn.quantized.Conv1d``)."""

    _dims = 1
    _FLOAT_MODULE: ClassVar[Any] = nn.Conv1d


class Conv2d(_ConvNd):
    """Convolve integers ``(N, C, H, W)`` (source: ``torch.ao.nn.quantized.Conv2d``)."""

    _dims = 2
    _FLOAT_MODULE: ClassVar[Any] = nn.Conv2d


class Conv3d(_ConvNd):
    """Convolve integers ``(N, C, D, H, W)`` (source: ``torch.ao.nn.quantized.Conv3d``)."""

    _dims = 3
    _FLOAT_MODULE: ClassVar[Any] = nn.Conv3d


class _ConvTransposeNd(_ConvNd):
    """The part of transposed ones, whose weight's input channels come first."""

    _operator = ("conv_transpose", "")
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = kernel_size, stride, padding, dilation
        super().__init__(
            in_channels, out_channels, *sizes, groups, bias, padding_mode, device, dtype, output_padding=output_padding
        )

    def set_weight_bias(self, w: Any, b: Any) -> None:
        sizes = self.stride, self.padding, self.output_padding, self.dilation
        bias = None if b is None else b.detach()
        self._packed_params = self._find_operator("_prepack")(w, bias, *sizes, self.groups)

    @classmethod
    def _make(cls, mod: Any) -> Self:
        return cls(
            mod.in_channels,
            mod.out_channels,
            mod.kernel_size,
            mod.stride,
            mod.padding,
            mod.output_padding,
            mod.groups,
            mod.bias is not None,
            mod.dilation,
            mod.padding_mode,
        )


class ConvTranspose1d(_ConvTransposeNd):
    """Transpose a convolution of integers ``(N, C, L)`` (source: ``torch.ao.nn.quantized.ConvTranspose1d``)."""

    _dims = 1
    _FLOAT_MODULE: ClassVar[Any] = nn.ConvTranspose1d


class ConvTranspose2d(_ConvTransposeNd):
    """Transpose a convolution of integers ``(N, C, H, W)`` (source: ``torch.ao.nn.quantized.ConvTranspose2d``)."""

    _dims = 2
    _FLOAT_MODULE: ClassVar[Any] = nn.ConvTranspose2d


class ConvTranspose3d(_ConvTransposeNd):
    """Transpose a convolution of integers ``(N, C, D, H, W)`` (source: ``torch.ao.nn.quantized.ConvTranspose3d``)."""

    _dims = 3
    _FLOAT_MODULE: ClassVar[Any] = nn.ConvTranspose3d
