"""Embeddings of quantized rows, and bags of them: packed, or in one tensor of bytes, whose rows end in scale and offset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .packed import EmbeddingPackedParamsBase

aten: Final[Any] = dc.ops.aten
#: torch's number for bags that are added up.
_SUM: Final = 0
#: The bytes of a scale and an offset, and what keeps the scale of equal numbers finite.
_BYTES, _SMALL = 8, 1e-8


def _embed(weight: EmbeddingPackedParamsBase, indices: Tensor, pruned_weights: bool = False) -> Tensor:
    rows = weight.rows(indices)
    return rows.reshape([*indices.shape, rows.shape[-1]])


def pack_rows(weight: Tensor) -> Tensor:
    """Return rows of numbers as bytes: an integer for each, then the row's scale and its least number in float32."""
    if weight.dtype is not ScalarType.Float or weight.dim() < 1:
        raise RuntimeError(f"expected a weight of float32 with rows, but got {weight.dtype!r}, {list(weight.shape)}")
    rows = weight.detach().reshape(-1, weight.shape[-1])
    least = rows.amin(1, keepdim=True)
    distance = rows.amax(1, keepdim=True) - least
    integers = ((rows - least) * (255.0 / (distance + _SMALL))).round_().clamp_(0, 255).to(ScalarType.Byte)
    parameters = FUNCTIONS["cat"]([distance / 255.0, least], 1).view(ScalarType.Byte)
    return FUNCTIONS["cat"]([integers, parameters], 1).reshape([*weight.shape[:-1], -1])


def unpack_rows(weight: Tensor) -> Tensor:
    """Return the numbers of rows that `pack_rows` has made."""
    if weight.dtype is not ScalarType.Byte or weight.dim() < 1 or weight.shape[-1] < _BYTES:
        raise RuntimeError(
            f"expected rows of bytes with {_BYTES} of scale and offset, but got {weight.dtype!r}, {list(weight.shape)}\n"
            "Hint: torch.ops.quantized.embedding_bag_byte_prepack() makes them"
        )
    parameters = weight[..., -_BYTES:].contiguous().view(ScalarType.Float)
    return weight[..., :-_BYTES].to(ScalarType.Float).mul_(parameters[..., :1]).add_(parameters[..., 1:])


def _take_rows(weight: Tensor, indices: Tensor) -> Tensor:
    return unpack_rows(weight.index_select(0, indices.reshape(-1)))


def _sum_bags(find_rows: Callable[[Any, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return the operator that adds up the rows of each bag, as ``find_rows`` gives them."""

    def run(
        weight: Any,
        indices: Tensor,
        offsets: Tensor | None = None,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        pruned_weights: bool = False,
        per_sample_weights: Tensor | None = None,
        compressed_indices_mapping: Tensor | None = None,
        include_last_offset: bool = False,
    ) -> Tensor:
        if pruned_weights or compressed_indices_mapping is not None:
            raise NotImplementedError("embedding_bag_byte: pruned weights are not supported")
        rows = find_rows(weight, indices)
        count = rows.shape[0]
        places = FACTORIES["arange"](count, device=indices.device)
        if indices.dim() == 2:
            offsets = FACTORIES["arange"](0, count, indices.shape[1], device=indices.device)
        weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        found: Tensor = aten.embedding_bag(rows, places, offsets, False, _SUM, False, weights, include_last_offset)[0]
        return found

    return run


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "embedding_bag_prepack": EmbeddingPackedParamsBase,
    "embedding_bag_unpack": lambda W_prepack: W_prepack.unpack()[0],
    "embedding_byte": _embed,
    "embedding_bag_byte": _sum_bags(EmbeddingPackedParamsBase.rows),
    "embedding_bag_byte_prepack": pack_rows,
    "embedding_bag_byte_unpack": unpack_rows,
    "embedding_bag_byte_rowwise_offsets": _sum_bags(_take_rows),
}
