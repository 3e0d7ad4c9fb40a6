"""Fused layers that are trained with simulated quantization (source: ``torch.ao.nn.intrinsic.qat``).

Note [Batch normalization in the weight]
    A convolution and a batch normalization become one convolution when they are quantized, so the weight is rounded as it
    will be: scaled by the running deviation. The result is scaled back, and normalized by the batch's statistics.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation
from torchlike.nn import init
from torchlike.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights

from ..qat import trained
from . import fused

__all__ = [
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearBn1d",
    "LinearReLU",
    "freeze_bn_stats",
    "update_bn_stats",
]
__path__: list[str] = []  # it is a package in torch; see Note [Public paths]


class _Normalized(fused._FusedModule):
    """The part of layers with a batch normalization; see Note [Batch normalization in the weight]."""

    _FLOAT_MODULE: ClassVar[Any]
    _arguments: ClassVar[tuple[str, ...]]
    weight: Any
    bias: Any

    def _add_norm(self, norm: Any, size: int, bias: Any, freeze_bn: bool, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = norm
        self.weight_fake_quant = qconfig.weight()
        if bias:
            self.bias = nn.Parameter(t.empty(size))
        else:
            self.register_parameter("bias", None)
        self.reset_bn_parameters()
        if freeze_bn or not self.training:
            self.freeze_bn_stats()
        else:
            self.update_bn_stats()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self) -> None:
        """Draw the parameters of the normalization, and the bias."""
        self.bn.reset_running_stats()
        init.uniform_(self.bn.weight)
        init.zeros_(self.bn.bias)
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            init.uniform_(self.bias, -bound, bound)

    def update_bn_stats(self) -> Self:
        """Follow the batches' statistics."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Self:
        """Leave the running statistics as they are, and normalize by them."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> Self:
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def _product(self, input: Any, weight: Any, bias: Any) -> Any:
        raise NotImplementedError

    def _forward(self, input: Any) -> Any:
        factor = self.bn.weight / t.sqrt(self.bn.running_var + self.bn.eps)
        ones = [1] * (self.weight.dim() - 1)
        weight = self.weight_fake_quant(self.weight * factor.reshape([-1, *ones]))
        sides = [1, -1, *ones[1:]]
        zeros = t.zeros(len(factor), device=weight.device, dtype=input.dtype)
        out = self._product(input, weight, zeros) / factor.reshape(sides)
        return self.bn(out if self.bias is None else out + self.bias.reshape(sides))

    def forward(self, input: Any) -> Any:
        return self._forward(input)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return a layer with the parameters of ``mod``, which has a ``qconfig``."""
        qconfig = trained.find_qconfig(cls, mod)
        layer, norm = mod[0], mod[1]
        values = [layer.bias is not None if name == "bias" else getattr(layer, name) for name in cls._arguments]
        kind: Any = cls
        made = kind(*values, eps=norm.eps, momentum=norm.momentum, qconfig=qconfig)
        made.weight, made.bias = layer.weight, layer.bias
        for name in "weight", "bias", "running_mean", "running_var", "num_batches_tracked":
            setattr(made.bn, name, getattr(norm, name))
        found: Self = made
        return found

    def _normalized_weights(self, fuse: Any) -> tuple[Any, Any]:
        bn = self.bn
        found: tuple[Any, Any] = fuse(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        )
        return found


class _ConvBn(_Normalized):
    """The part of convolutions."""

    _version = 2
    _arguments = trained._Conv._arguments
    _base: ClassVar[Any]
    _norm: ClassVar[Any]
    _conv_forward: Any
    out_channels: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        self._base.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, False, padding_mode
        )
        norm = self._norm(out_channels, eps, momentum, True, True)
        self._add_norm(norm, out_channels, bias, freeze_bn, qconfig)

    def _product(self, input: Any, weight: Any, bias: Any) -> Any:
        return self._conv_forward(input, weight, bias)

    def to_float(self) -> Any:
        """Return a convolution with the normalization in its weight."""
        values = [True if name == "bias" else getattr(self, name) for name in self._arguments]
        made = self._base(*values)
        made.weight, made.bias = self._normalized_weights(fuse_conv_bn_weights)
        parts = self._FLOAT_MODULE._parts
        if nn.ReLU in parts:
            made = getattr(fused, f"ConvReLU{self._base._dims}d")(made, nn.ReLU())
        return made.train(self.training)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *rest: Any
    ) -> None:
        if local_metadata.get("version") in (None, 1):
            for name in "weight", "bias", "running_mean", "running_var", "num_batches_tracked":
                old = prefix + {"weight": "gamma", "bias": "beta"}.get(name, name)
                if old in state_dict:
                    state_dict[f"{prefix}bn.{name}"] = state_dict.pop(old)
                elif f"{prefix}bn.{name}" not in state_dict and strict:
                    missing_keys.append(f"{prefix}bn.{name}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *rest)


class _ReLU:
    """The part of layers that end by ReLU."""

    def forward(self, input: Any) -> Any:
        return F.relu(super().forward(input))  # type: ignore[misc]  # the layer's


def _make(name: str, bases: tuple[Any, ...], **facts: Any) -> Any:
    text = f"Train ``{name}`` with its weight rounded (source: ``torch.ao.nn.intrinsic.qat.{name}``)."
    return type(name, bases, {"__module__": __name__, "__doc__": text, **facts})


def _conv_bn(dims: int, relu: str) -> Any:
    base, norm = getattr(nn, f"Conv{dims}d"), getattr(nn, f"BatchNorm{dims}d")
    name = f"ConvBn{relu}{dims}d"
    plain = globals()[f"ConvBn{dims}d"] if relu else None
    bases = (_ReLU, plain) if relu else (_ConvBn, base)
    return _make(name, bases, _FLOAT_MODULE=getattr(fused, name), _base=base, _norm=norm)


ConvBn1d, ConvBn2d, ConvBn3d = (_conv_bn(dims, "") for dims in (1, 2, 3))
ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d = (_conv_bn(dims, "ReLU") for dims in (1, 2, 3))
ConvReLU1d, ConvReLU2d, ConvReLU3d = (
    _make(
        f"ConvReLU{dims}d",
        (_ReLU, getattr(trained, f"Conv{dims}d"), fused._FusedModule),
        _FLOAT_MODULE=getattr(fused, f"ConvReLU{dims}d"),
    )
    for dims in (1, 2, 3)
)
LinearReLU = _make("LinearReLU", (_ReLU, trained.Linear, fused._FusedModule), _FLOAT_MODULE=fused.LinearReLU)


class LinearBn1d(_Normalized, nn.Linear):
    """Train ``LinearBn1d`` with its weight rounded (source: ``torch.ao.nn.intrinsic.qat.LinearBn1d``)."""

    _FLOAT_MODULE = fused.LinearBn1d
    _arguments = trained.Linear._arguments

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        nn.Linear.__init__(self, in_features, out_features, bias)
        norm = nn.BatchNorm1d(out_features, eps, momentum, True, True)
        self._add_norm(norm, out_features, bias, freeze_bn, qconfig)

    def _product(self, input: Any, weight: Any, bias: Any) -> Any:
        return F.linear(input, weight, bias)

    def to_float(self) -> Any:
        """Return a linear layer with the normalization in its weight."""
        made = nn.Linear(self.in_features, self.out_features)
        made.weight, made.bias = self._normalized_weights(fuse_linear_bn_weights)
        return made


_WITH_STATISTICS = (ConvBn1d, ConvBn2d, ConvBn3d, ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d)


def update_bn_stats(mod: Any) -> None:
    """Make a module follow the batches' statistics, for ``Module.apply``."""
    if type(mod) in _WITH_STATISTICS:
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """Make a module normalize by its running statistics, for ``Module.apply``."""
    if type(mod) in _WITH_STATISTICS:
        mod.freeze_bn_stats()
