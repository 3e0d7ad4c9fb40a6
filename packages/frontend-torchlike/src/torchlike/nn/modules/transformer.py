"""Transformers (source: ``torch.nn.modules.transformer``)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import cached_property
from operator import index
from typing import Any, ClassVar

from ...creation.factories import FACTORIES
from ...functions.operator_functions import FUNCTIONS
from ...history.grad_mode import is_grad_enabled
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import init
from ..functional.attentions import _canonical_mask
from .activation import GELU, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm
from .parts.multihead import MultiheadAttention

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

_Maybe = Tensor | None
_Activation = str | Callable[[Tensor], Tensor]


def _generate_square_subsequent_mask(sz: int, device: DeviceLike = None, dtype: DTypeLike = None) -> Tensor:
    """Return a mask that hides the steps to come: minus infinity above the diagonal, zeros elsewhere."""
    hidden = FACTORIES["full"]((sz, sz), float("-inf"), dtype=dtype, device=device)
    found: Tensor = FUNCTIONS["triu"](hidden, 1)
    return found


def _detect_is_causal_mask(mask: _Maybe, is_causal: bool | None, size: int) -> bool:
    """Return whether a mask hides the steps to come, as told, or else by its elements."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = _generate_square_subsequent_mask(size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def _get_clones(module: Any, N: int) -> ModuleList:  # torch's name
    """Return copies of a module."""
    try:
        count = index(N)
    except Exception:  # noqa: BLE001  # it is the caller's, and may raise anything
        count = None
    if count is None:
        raise TypeError(f"a number of layers is an int, not {type(N).__name__}")
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    found: Callable[[Tensor], Tensor] = getattr(F, activation)
    return found


def _length(tensor: Tensor, batch_first: bool) -> int:
    return tensor.shape[0] if tensor.dim() == 2 else tensor.shape[1 if batch_first else 0]


class _Layer(Module):
    """The parts that layers of the encoder and the decoder have in common."""

    #: The attributes that attend.
    _attentions: ClassVar[tuple[str, ...]]
    norm_first: bool
    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention
    dropout1: Dropout
    dropout2: Dropout
    dropout3: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made))
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        places = range(1, len(self._attentions) + 2)
        for place in places:
            setattr(self, f"norm{place}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for place in places:
            setattr(self, f"dropout{place}", Dropout(dropout))
        self.activation: Any = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "activation" not in self.__dict__ and "activation" not in self._modules:
            self.activation = F.relu

    def _add(self, x: Tensor, norm: Any, block: Callable[..., Tensor], *args: Any) -> Tensor:
        """Return ``x`` with a block's result added, normalized before the block or after the sum."""
        found: Tensor = x + block(norm(x), *args) if self.norm_first else norm(x + block(x, *args))
        return found

    # The blocks have torch's names, since programs override them.

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        given: Any = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        found: Tensor = self.dropout1(self.self_attn(x, x, x, need_weights=False, **given)[0])
        return found

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        given: Any = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        found: Tensor = self.dropout2(self.multihead_attn(x, mem, mem, need_weights=False, **given)[0])
        return found

    def _ff_block(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        last = self.dropout3 if hasattr(self, "dropout3") else self.dropout2
        dropped: Tensor = last(found)
        return dropped


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear layers (source: ``torch.nn.TransformerEncoderLayer``).

    Shapes: ``(S, N, d_model)``, with ``batch_first`` ``(N, S, d_model)``, or ``(S, d_model)``, to the same.
    """

    _attentions = ("self_attn",)

    # Programs also set it.
    @cached_property
    def activation_relu_or_gelu(self) -> int:
        """Return 1 for ReLU as the activation, 2 for GELU, 0 for another."""
        is_module = isinstance(self.activation, Module)
        return {ReLU: 1, GELU: 2, F.relu: 1, F.gelu: 2}.get(type(self.activation) if is_module else self.activation, 0)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        check_tensor(src, type(self).__name__, "src")
        if src_mask is not None:
            check_tensor(src_mask, type(self).__name__, "src_mask")
        other = None if src_mask is None else src_mask.dtype
        padding = _canonical_mask(src_key_padding_mask, "src_key_padding_mask", other, "src_mask", src.dtype)
        mask = _canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        x = self._add(src, self.norm1, self._sa_block, mask, padding, is_causal)
        return self._add(x, self.norm2, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Attention to itself and to the encoder, and two linear layers (source: ``torch.nn.TransformerDecoderLayer``)."""

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = self._add(tgt, self.norm1, self._sa_block, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self._add(x, self.norm2, self._mha_block, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        return self._add(x, self.norm3, self._ff_block)


class TransformerEncoder(Module):
    """A stack of copies of a layer (source: ``torch.nn.TransformerEncoder``)."""

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm, self.mask_check = num_layers, norm, mask_check
        reason = _explain_padding(encoder_layer) if enable_nested_tensor else None
        if reason:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}",
                UserWarning,
                stacklevel=2,
            )
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor and not reason

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        check_tensor(src, type(self).__name__, "src")
        if mask is not None:
            check_tensor(mask, type(self).__name__, "mask")
        other = None if mask is None else mask.dtype
        padding = _canonical_mask(src_key_padding_mask, "src_key_padding_mask", other, "mask", src.dtype)
        mask = _canonical_mask(mask, "mask", None, "", src.dtype, False)
        first: Any = self.layers[0]
        causal = _detect_is_causal_mask(mask, is_causal, _length(src, first.self_attn.batch_first))
        output: Tensor = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._leaves_padding_out(src, padding):
            hidden: Any = padding != 0
            output = output.masked_fill(hidden.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _leaves_padding_out(self, src: Tensor, padding: Tensor) -> bool:
        """Return whether torch computes nothing for padding here (by a nested tensor), so that its results are zeros."""
        first: Any = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3:
            return False
        if is_grad_enabled() and (src.requires_grad or any(each.requires_grad for each in first.parameters())):
            return False
        shown: Any = padding == 0
        return not self.mask_check or bool((shown[:, 1:] <= shown[:, :-1]).all())


def _explain_padding(layer: Any) -> str | None:
    """Return why torch would not leave padding out of an encoder's work."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention: Any = layer.self_attn
    norms: Any = layer
    for holds, reason in (
        (layer.norm_first, "norm_first was True"),
        (
            not attention.batch_first,
            "self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
        (norms.norm1.eps != norms.norm2.eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2, "self_attn.num_heads is odd"),
    ):
        if holds:
            return f"encoder_layer.{reason}"
    return None


class TransformerDecoder(Module):
    """A stack of copies of a layer (source: ``torch.nn.TransformerDecoder``)."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        first: Any = self.layers[0]
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, _length(tgt, first.self_attn.batch_first))
        output: Tensor = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder and a decoder (source: ``torch.nn.Transformer``; Vaswani et al., 2017).

    Shapes: ``src`` ``(S, N, d_model)`` and ``tgt`` ``(T, N, d_model)`` to ``(T, N, d_model)``, ``N`` first with
    ``batch_first``.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        options = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

        def make_norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder
        if custom_encoder is None:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, make_norm())
        self.decoder = custom_decoder
        if custom_decoder is None:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, make_norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        check_tensor(src, type(self).__name__, "src")
        check_tensor(tgt, type(self).__name__, "tgt")
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        found: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return found

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceLike = None, dtype: DTypeLike = None) -> Tensor:
        """Return a mask ``(sz, sz)`` that hides the steps to come.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
