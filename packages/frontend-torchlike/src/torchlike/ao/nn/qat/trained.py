"""Layers with a module that rounds their weight in each call (source: ``torch.ao.nn.qat.modules``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation
from torchlike.nn.utils.parametrize import (
    is_parametrized,
    transfer_parametrizations_and_params,
    type_before_parametrizations,
)

from ..intrinsic.fused import _FusedModule

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]


def find_qconfig(cls: Any, mod: Any) -> Any:
    """Return the configuration of a module that a class is made from; refuse others with ``AssertionError``."""
    kind = type_before_parametrizations(mod)
    if kind is not cls._FLOAT_MODULE:
        raise AssertionError(
            f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}, got {kind.__name__}"
        )
    if not getattr(mod, "qconfig", None):
        raise AssertionError("Input float module must have a valid qconfig")
    return mod.qconfig


class _Trained(nn.Module):
    """The part of such layers that rounds the weight."""

    _FLOAT_MODULE: ClassVar[Any]
    #: The attributes of a layer that are arguments of its class, by position.
    _arguments: ClassVar[tuple[str, ...]]
    weight: Any
    bias: Any

    def _prepare(self, qconfig: Any, device: Any = None, dtype: Any = None) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})

    @classmethod
    def _arguments_of(cls, mod: Any) -> list[Any]:
        has_bias = "bias" in cls._arguments and mod.bias is not None
        return [has_bias if name == "bias" else getattr(mod, name) for name in cls._arguments]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return a layer with the parameters of ``mod``, which has a ``qconfig``."""
        find_qconfig(cls, mod)
        mod = mod[0] if isinstance(mod, _FusedModule) else mod
        made = cls(*cls._arguments_of(mod), qconfig=mod.qconfig)
        for name in "weight", "bias":
            if is_parametrized(mod, name):
                transfer_parametrizations_and_params(mod, made, name)
            elif hasattr(mod, name):
                setattr(made, name, getattr(mod, name))
        return made

    def to_float(self) -> Any:
        """Return a layer with these parameters and no simulated quantization."""
        parts = getattr(self._FLOAT_MODULE, "_parts", (self._FLOAT_MODULE,))
        made = parts[0](*self._arguments_of(self))
        for name in "weight", "bias":
            value = getattr(self, name, None)
            if value is not None:
                setattr(made, name, nn.Parameter(value.detach()))
        made = made if len(parts) == 1 else self._FLOAT_MODULE(made, *(each() for each in parts[1:]))
        return made.train(self.training)


class Linear(_Trained, nn.Linear):
    """Multiply by a rounded weight (source: ``torch.ao.nn.qat.Linear``)."""

    _FLOAT_MODULE = nn.Linear
    _arguments = "in_features", "out_features", "bias"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        nn.Linear.__init__(self, in_features, out_features, bias, device=device, dtype=dtype)
        self._prepare(qconfig, device, dtype)

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)


class _Conv(_Trained):
    """The part of convolutions."""

    _arguments = (
        *("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias"),
        "padding_mode",
    )
    _base: ClassVar[Any]
    _conv_forward: Any

    def __init__(self, *args: Any, qconfig: Any = None, device: Any = None, dtype: Any = None, **options: Any) -> None:
        self._base.__init__(self, *args, device=device, dtype=dtype, **options)
        self._prepare(qconfig, device, dtype)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class Conv1d(_Conv, nn.Conv1d):
    """Convolve ``(N, C, L)`` with a rounded weight (source: ``torch.ao.nn.qat.Conv1d``)."""

    _base = _FLOAT_MODULE = nn.Conv1d


class Conv2d(_Conv, nn.Conv2d):
    """Convolve ``(N, C, H, W)`` with a rounded weight (source: ``torch.ao.nn.qat.Conv2d``)."""

    _base = _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Conv, nn.Conv3d):
    """Convolve ``(N, C, D, H, W)`` with a rounded weight (source: ``torch.ao.nn.qat.Conv3d``)."""

    _base = _FLOAT_MODULE = nn.Conv3d


class _Rows(_Trained):
    """The part of tables, whose zero points are no integers."""

    _base: ClassVar[Any]

    def __init__(self, *args: Any, qconfig: Any = None, device: Any = None, dtype: Any = None, **options: Any) -> None:
        self._base.__init__(self, *args, device=device, dtype=dtype, **options)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        scheme = qconfig.weight().qscheme
        if scheme != t.per_channel_affine_float_qparams:
            raise AssertionError(
                f"{self._base.__name__} weights requires a qscheme of torch.per_channel_affine_float_qparams Got {scheme}"
            )
        self._prepare(qconfig, device, dtype)


class Embedding(_Rows, nn.Embedding):
    """Look up rows of a rounded table (source: ``torch.ao.nn.qat.Embedding``)."""

    _base = _FLOAT_MODULE = nn.Embedding
    _arguments = (
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    )

    def forward(self, input: Any) -> Any:
        rest = self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        return F.embedding(input, self.weight_fake_quant(self.weight), *rest)


class EmbeddingBag(_Rows, nn.EmbeddingBag):
    """Reduce bags of rows of a rounded table (source: ``torch.ao.nn.qat.EmbeddingBag``)."""

    _base = _FLOAT_MODULE = nn.EmbeddingBag
    _arguments = "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse"

    @classmethod
    def _arguments_of(cls, mod: Any) -> list[Any]:
        return [*super()._arguments_of(mod), None, mod.include_last_offset, mod.padding_idx]

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        rest = self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse
        weight = self.weight_fake_quant(self.weight)
        return F.embedding_bag(
            input, weight, offsets, *rest, per_sample_weights, self.include_last_offset, self.padding_idx
        )
