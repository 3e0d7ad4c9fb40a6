"""Attention over several heads as a module (source: ``torch.nn.modules.activation``)."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.multihead"  # see Note [Public paths]

from typing import Any

from ....creation.factories import FACTORIES
from ....tensors.arguments import check_tensor
from ....tensors.tensor import Tensor
from ....values.argument_types import DeviceLike, DTypeLike
from ... import functional as F  # noqa: N812  # torch's own abbreviation
from ... import init
from ...parameter import Parameter
from ..linear import Linear
from ..module import Module

__all__ = ["MultiheadAttention", "NonDynamicallyQuantizableLinear"]


class NonDynamicallyQuantizableLinear(Linear):
    """``Linear`` by the name that torch prints for the last product of attention."""


class MultiheadAttention(Module):
    """Attention over ``num_heads`` parts of the vectors (source: ``torch.nn.MultiheadAttention``).

    Shapes: query ``(L, N, embed_dim)``, key ``(S, N, kdim)``, value ``(S, N, vdim)``, with ``batch_first`` ``N`` before
    them, or all without ``N``; to ``(L, N, embed_dim)`` and weights ``(N, L, S)``. Masks hold where attention is hidden.
    """

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
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                "embed_dim must be divisible by num_heads\n"
                f"Hint: embed_dim is {embed_dim}, and num_heads is {num_heads}"
            )
        same = self._qkv_same_embed_dim
        shapes: dict[str, Any] = {
            "q_proj_weight": None if same else (embed_dim, embed_dim),
            "k_proj_weight": None if same else (embed_dim, self.kdim),
            "v_proj_weight": None if same else (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim) if same else None,
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        # Weights that there are come before those that there are not, as in torch.
        for name, shape in sorted(shapes.items(), key=lambda item: item[0] != "in_proj_weight" if same else False):
            made = None if shape is None else Parameter(FACTORIES["empty"](shape, device=device, dtype=dtype))
            self.register_parameter(name, made)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k: Any = None
        self.bias_v: Any = None
        if add_bias_kv:
            for name in ("bias_k", "bias_v"):
                setattr(self, name, Parameter(FACTORIES["empty"]((1, 1, embed_dim), device=device, dtype=dtype)))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        check_tensor(query, type(self).__name__, "query")
        check_tensor(key, type(self).__name__, "key")
        check_tensor(value, type(self).__name__, "value")
        turned = self.batch_first and query.dim() == 3
        if turned:
            # The same tensor stays one object, so that it is multiplied once.
            same, pair = query is key, key is value
            query = query.transpose(1, 0)
            key = query if same else key.transpose(1, 0)
            value = key if pair else value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if turned else output), weights
