"""Tables of integers, a scale for each row (source: ``torch.ao.nn.quantized.modules.embedding_ops``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn

from ..qat import trained
from .utils import _hide_packed_params_repr, _quantize_weight, guard_attributes

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams"]


def _empty_table(rows: int, width: int, dtype: Any) -> Any:
    scales, zero_points = t.ones(rows), t.zeros(rows)
    return t._empty_per_channel_affine_quantized(
        [rows, width], scales=scales, zero_points=zero_points, axis=0, dtype=dtype
    )


class EmbeddingPackedParams(nn.Module):
    """Keep a table as look-ups take it (source: ``torch.ao.nn.quantized.modules.embedding_ops``)."""

    _packed_weight: Any

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = t.quint8) -> None:
        super().__init__()
        if dtype != t.quint8:
            raise NotImplementedError(f"a quantized embedding has the dtype quint8, not {dtype}")
        self.dtype = dtype
        self.set_weight(_empty_table(num_embeddings, embedding_dim, dtype))

    def set_weight(self, weight: Any) -> None:
        """Take a quantized table."""
        self._packed_weight = t.ops.quantized.embedding_bag_prepack(weight)

    def _weight(self) -> Any:
        return t.ops.quantized.embedding_bag_unpack(self._packed_weight)

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"], destination[prefix + "_packed_weight"] = self.dtype, self._weight()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(nn.Module):
    """Look up rows of integers, and return numbers (source: ``torch.ao.nn.quantized.Embedding``)."""

    _classes: ClassVar[Any] = (nn.Embedding, trained.Embedding)

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        dtype: Any = t.quint8,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        if _weight is not None and [*_weight.shape] != [num_embeddings, embedding_dim]:
            raise AssertionError(f"Shape of weight {[*_weight.shape]} does not match num_embeddings and embedding_dim")
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        if _weight is not None:
            self.set_weight(_weight)

    def forward(self, indices: Any) -> Any:
        guard_attributes(self._packed_params, "_packed_weight")
        return t.ops.quantized.embedding_byte(self._packed_params._packed_weight, indices)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, EmbeddingPackedParams)

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim},"
            f" dtype={self._packed_params.dtype}, qscheme={self.weight().qscheme()}"
        )

    def set_weight(self, w: Any) -> None:
        """Take a quantized table."""
        self._packed_params.set_weight(w)

    def weight(self) -> Any:
        """Return the quantized table."""
        return self._packed_params._weight()

    @classmethod
    def _options_of(cls, mod: Any) -> dict[str, Any]:
        return {}

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for another one, which has a ``qconfig``."""
        if type(mod) not in cls._classes:
            raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {cls._classes[0].__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError(f"{cls.__name__} input float module must have qconfig defined")
        from ...quantization.qconfig import float_qparams_weight_only_qconfig  # only this function needs it

        config = mod.qconfig
        config = config if config is not None and config.weight is not None else float_qparams_weight_only_qconfig
        observer = getattr(mod, "weight_fake_quant", None) or config.weight()
        if observer.qscheme != t.per_channel_affine_float_qparams:
            raise AssertionError(
                f"{cls.__name__} quantization is only supported with float_qparams_weight_only_qconfig."
            )
        if observer.dtype != t.quint8:
            raise AssertionError(f"the dtype of quantized tables is quint8, not {observer.dtype}")
        observer(mod.weight)
        made = cls(mod.num_embeddings, mod.embedding_dim, **cls._options_of(mod))
        made.set_weight(_quantize_weight(mod.weight.float(), observer))
        return made


class EmbeddingBag(Embedding):
    """Sum bags of rows of integers, and return numbers (source: ``torch.ao.nn.quantized.EmbeddingBag``)."""

    _classes = (nn.EmbeddingBag, trained.EmbeddingBag)

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "sum",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        dtype: Any = t.quint8,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.pruned_weights, self.include_last_offset = mode, False, include_last_offset

    def forward(
        self, indices: Any, offsets: Any = None, per_sample_weights: Any = None, compressed_indices_mapping: Any = None
    ) -> Any:
        guard_attributes(self._packed_params, "_packed_weight")
        return t.ops.quantized.embedding_bag_byte(
            self._packed_params._packed_weight,
            indices,
            offsets,
            False,
            0,
            self.pruned_weights,
            per_sample_weights,
            compressed_indices_mapping,
            self.include_last_offset,
        )

    @classmethod
    def _options_of(cls, mod: Any) -> dict[str, Any]:
        names = "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse", "include_last_offset"
        return {name: getattr(mod, name) for name in names}
