"""Attention by products that are modules (source: ``torch.ao.nn.quantizable.modules.activation``)."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import torchlike as t
from torchlike import nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation

__all__ = ["MultiheadAttention"]


class MultiheadAttention(nn.MultiheadAttention):
    """Compute attention by modules that can be observed (source: ``torch.ao.nn.quantizable.MultiheadAttention``).

    Query ``(L, N, embed_dim)``, key ``(S, N, kdim)`` and value ``(S, N, vdim)``, with ``batch_first`` ``N`` first, to
    ``(L, N, embed_dim)`` and weights ``(N, L, S)``. Products before the weights and behind them are observed; the weights
    are computed of floats. `prepare` puts it in the place of ``nn.MultiheadAttention``.

    >>> import torchlike
    >>> x = torchlike.ones(5, 2, 8)
    >>> MultiheadAttention(8, 2)(x, x, x)[0].shape
    torchlike.Size([5, 2, 8])
    """

    _FLOAT_MODULE: ClassVar[Any] = nn.MultiheadAttention

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype
        )
        from ...quantization.stubs import DeQuantStub, QuantStub  # its package imports this one
        from ..quantized.functional_modules import FloatFunctional

        self.linear_Q: Any = nn.Linear(embed_dim, embed_dim, bias, device, dtype)
        self.linear_K: Any = nn.Linear(self.kdim, embed_dim, bias, device, dtype)
        self.linear_V: Any = nn.Linear(self.vdim, embed_dim, bias, device, dtype)
        self.out_proj: Any = nn.Linear(embed_dim, embed_dim, bias, device, dtype)
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    def _products(self) -> tuple[Any, Any, Any]:
        return self.linear_Q, self.linear_K, self.linear_V

    def _options(self, bias: bool) -> tuple[Any, ...]:
        sizes = self.embed_dim, self.num_heads, self.dropout, bias, self.bias_k is not None, self.add_zero_attn
        return *sizes, self.kdim, self.vdim, self.batch_first

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """Return the observed layer for another one, which has a ``qconfig``."""
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        made = cls(*cls._options(other, other.in_proj_bias is not None))
        made.bias_k, made.bias_v, made.qconfig = other.bias_k, other.bias_v, other.qconfig
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        weights = other.q_proj_weight, other.k_proj_weight, other.v_proj_weight
        if other._qkv_same_embed_dim:
            weights = other.in_proj_weight.chunk(3)
        for at, (layer, weight) in enumerate(zip(made._products(), weights, strict=True)):
            layer.weight = nn.Parameter(weight, weight.requires_grad)
            if other.in_proj_bias is not None:
                layer.bias = nn.Parameter(other.in_proj_bias.chunk(3)[at], other.in_proj_bias.requires_grad)
        return t.ao.quantization.prepare(made.eval(), inplace=True)

    def dequantize(self) -> Any:
        """Return the layer of floats for a quantized one."""
        weights, biases = zip(*(each._weight_bias() for each in self._products()), strict=True)
        made = nn.MultiheadAttention(*self._options(biases[0] is not None))
        numbers = [each.dequantize() for each in weights]
        if made._qkv_same_embed_dim:
            made.in_proj_weight = nn.Parameter(t.cat(numbers))
        else:
            made.q_proj_weight, made.k_proj_weight, made.v_proj_weight = map(nn.Parameter, numbers)
        if biases[0] is not None:
            made.in_proj_bias = nn.Parameter(t.cat(biases))
        if self.bias_k is not None:
            made.bias_k, made.bias_v = (nn.Parameter(each.dequantize()) for each in (self.bias_k, self.bias_v))
        weight, bias = self.out_proj._weight_bias()
        made.out_proj.weight = nn.Parameter(weight.dequantize())
        made.out_proj.bias = None if bias is None else nn.Parameter(bias)
        return made

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Raise ``NotImplementedError``: ``torch.ao.nn.quantized.MultiheadAttention`` makes the quantized layer."""
        raise NotImplementedError(
            "It looks like you are trying to prepare an MHA module\nHint: quantization.convert(model) makes quantized layers"
        )

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        if is_causal:
            raise AssertionError(
                "causal mask not supported by AO MHA module"
                if attn_mask is None
                else "Only allow causal mask or attn_mask"
            )
        if self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        length, batch, size = query.size()
        if size != self.embed_dim:
            raise AssertionError(f"embed_dim mismatch: {self.embed_dim} != {size}")
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key and value size mismatch: key.size()={key.size()}, value.size()={value.size()}")
        masks = [
            _check_mask(attn_mask, (batch * self.num_heads, length, key.size(0))),
            _as_bool(key_padding_mask, "key_padding_mask"),
        ]
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), float(self.head_dim) ** -0.5)
        k, v = self.linear_K(key), self.linear_V(value)
        if self.bias_k is not None:
            k, v = (t.cat([each, bias.repeat(1, batch, 1)]) for each, bias in ((k, self.bias_k), (v, self.bias_v)))
            masks = [None if each is None else F.pad(each, (0, 1)) for each in masks]
        q, k, v = (
            each.contiguous().view(-1, batch * self.num_heads, self.head_dim).transpose(0, 1) for each in (q, k, v)
        )
        if self.add_zero_attn:
            k, v = (t.cat([each, _zeros_like(each[:, :1])], 1) for each in (k, v))
            masks = [None if each is None else F.pad(each, (0, 1)) for each in masks]
        q, k, v = self.dequant_q(q), self.dequant_k(k), self.dequant_v(v)
        weights = self._weigh(t.bmm(q, k.transpose(1, 2)), masks, batch)
        mixed = t.bmm(weights, v)
        if self.batch_first:  # torch takes the heads for rows here
            mixed = mixed.view(batch, length, self.embed_dim)
        else:
            mixed = mixed.transpose(0, 1).contiguous().view(length, batch, self.embed_dim)
        mixed = self.out_proj(self.quant_attn_output(mixed))
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return mixed, None
        weights = weights.view(batch, self.num_heads, length, -1)
        return mixed, weights.mean(dim=1) if average_attn_weights else weights

    def _weigh(self, scores: Any, masks: Any, batch: int) -> Any:
        """Return the weights of products, without those that masks hide."""
        mask, padding = masks
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf")) if mask.dtype == t.bool else scores + mask
        if padding is not None:
            if padding.shape != (batch, scores.size(2)):
                raise AssertionError(
                    f"key_padding_mask should have the size {[batch, scores.size(2)]}, got {list(padding.shape)}"
                )
            apart = scores.view(batch, self.num_heads, *scores.shape[1:])
            scores = apart.masked_fill(padding.unsqueeze(1).unsqueeze(2), float("-inf")).view(scores.shape)
        return F.dropout(F.softmax(scores, dim=-1), self.dropout, self.training)


def _zeros_like(tensor: Any) -> Any:
    zeros = t.zeros(tensor.shape)
    if not tensor.is_quantized:
        return zeros
    return t.quantize_per_tensor(zeros, tensor.q_scale(), tensor.q_zero_point(), tensor.dtype)


def _as_bool(mask: Any, name: str) -> Any:
    if mask is None or mask.dtype != t.uint8:
        return mask
    warnings.warn(
        f"Byte tensor for `{name}` in `nn.MultiheadAttention` is deprecated. Use bool tensor instead.", stacklevel=4
    )
    return mask.to(t.bool)


def _check_mask(mask: Any, sizes: tuple[int, int, int]) -> Any:
    """Return a mask of three dimensions; ``AssertionError`` for other dtypes, ``RuntimeError`` for other sizes."""
    mask = _as_bool(mask, "attn_mask")
    if mask is None:
        return None
    if not mask.is_floating_point() and mask.dtype != t.bool:
        raise AssertionError(f"Only float and bool types are supported for attn_mask, not {mask.dtype}")
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if mask.shape != (sizes[1:] if mask.dim() == 2 else sizes):
        raise RuntimeError(f"The size of the {mask.dim()}D attn_mask is not correct.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask
