"""Quantized tensors: integers, and how they map to numbers (source: torch's quantized tensors)."""

from __future__ import annotations

from ..names.lazy_names import load_names

_NAMES = {
    "fallback": "quantized_fallback",
    "packed": "Conv2dPackedParamsBase Conv3dPackedParamsBase EmbeddingPackedParamsBase LinearPackedParamsBase",
}

_late, __getattr__, __dir__ = load_names(__name__, _NAMES)

__all__ = [
    "Conv2dPackedParamsBase",
    "Conv3dPackedParamsBase",
    "EmbeddingPackedParamsBase",
    "LinearPackedParamsBase",
    "quantized_fallback",
]
